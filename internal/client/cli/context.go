package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func contextCommand(c *cli) *cobra.Command {
	list := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Args: cobra.NoArgs, Short: "The servers that you have logged in to",
		RunE: func(*cobra.Command, []string) error { return listContexts(c) }}
	use := &cobra.Command{Use: "use NAME", Args: cobra.ExactArgs(1), Short: "Make a context the current one",
		ValidArgsFunction: c.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := c.env.loadConfig()
			if err != nil {
				return err
			}
			if _, ok := cfg.Contexts[args[0]]; !ok {
				return fail(exitNotFound, "there is no context %q: `fleet context list` shows those that there are", args[0])
			}
			cfg.Current = args[0]
			if err := c.env.saveConfig(cfg); err != nil {
				return err
			}
			c.say("Commands ask %s now.\n", cfg.Contexts[args[0]].Server)
			return nil
		}}
	remove := &cobra.Command{Use: "remove NAME", Aliases: []string{"rm"}, Args: cobra.ExactArgs(1),
		Short:             "Forget a context with its tokens",
		ValidArgsFunction: c.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := c.env.loadConfig()
			if err != nil {
				return err
			}
			return removeContext(c, cfg, args[0])
		}}
	return group("context", "The servers that you have logged in to", list, use, remove)
}

func removeContext(c *cli, cfg config, name string) error {
	if name == "" {
		return fail(exitNotFound, "there is no current context: `fleet context list` shows those that there are")
	}
	saved, ok := cfg.Contexts[name]
	if !ok {
		return fail(exitNotFound, "there is no context %q: `fleet context list` shows those that there are", name)
	}
	delete(cfg.Contexts, name)
	if cfg.Current == name {
		cfg.Current = ""
	}
	if err := c.env.saveConfig(cfg); err != nil {
		return err
	}
	c.say("The tokens of %s are forgotten here; they stay good until they are revoked.\n", saved.Server)
	return nil
}

// listedContext is a context without its tokens.
type listedContext struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	Current bool   `json:"current"`
	Token   bool   `json:"token"`
	Enrols  bool   `json:"enrolment_token"`
}

func listContexts(c *cli) error {
	cfg, err := c.env.loadConfig()
	if err != nil {
		return err
	}
	all := []listedContext{}
	for _, name := range sortedKeys(cfg.Contexts) {
		saved := cfg.Contexts[name]
		all = append(all, listedContext{name, saved.Server, name == cfg.Current, saved.Token != "", saved.EnrolmentToken != ""})
	}
	body, err := json.Marshal(map[string]any{"items": all})
	if err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) {
		if len(all) == 0 {
			fmt.Fprintln(w, "You have not logged in to a server. `fleet login` does.")
			return
		}
		t := c.table("", "NAME", "SERVER", "TOKENS")
		for _, one := range all {
			mark, tokens := "", ""
			if one.Current {
				mark = "*"
			}
			if one.Token {
				tokens = "person"
			}
			if one.Enrols {
				tokens += " enrolment"
			}
			t.row(mark, one.Name, one.Server, tokens)
		}
		t.print(w)
	})
}

func (c *cli) completeContexts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	cfg, err := c.env.loadConfig()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sortedKeys(cfg.Contexts), cobra.ShellCompDirectiveNoFileComp
}
