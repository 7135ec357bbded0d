package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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

// configFile is below Env.ConfigDir. Only its owner reads it: it has tokens.
const configFile = "config.json"

// config is the file: the servers that this person has logged in to.
type config struct {
	// Current is the name of the context that commands use.
	Current  string                  `json:"current"`
	Contexts map[string]savedContext `json:"contexts"`
}

// savedContext is a server and who calls it.
type savedContext struct {
	Server string `json:"server"`
	Token  string `json:"token,omitempty"`
	// EnrolmentToken registers agents; `fleet worker` and `fleet job claim` need it.
	EnrolmentToken string `json:"enrolment_token,omitempty"`
}

// configPath is where the file is.
func (e Env) configPath() (string, error) {
	if e.ConfigDir == "" {
		return "", errors.New("there is no folder for the configuration: set HOME, or XDG_CONFIG_HOME")
	}
	return filepath.Join(e.ConfigDir, configFile), nil
}

// loadConfig reads the file; where there is none yet, nothing is in it.
func (e Env) loadConfig() (config, error) {
	empty := config{Contexts: map[string]savedContext{}}
	path, err := e.configPath()
	if err != nil {
		return empty, err
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, err
	}
	read := empty
	if err := json.Unmarshal(raw, &read); err != nil {
		return empty, fmt.Errorf("%s is not JSON as `fleet login` writes it; mend or remove it: %w", path, err)
	}
	if read.Contexts == nil {
		read.Contexts = empty.Contexts
	}
	return read, nil
}

func (e Env) saveConfig(cfg config) error {
	path, err := e.configPath()
	if err != nil {
		return err
	}
	return writePrivate(path, cfg)
}

// writePrivate replaces a file of JSON that only its owner may read, whole or not at all.
func writePrivate(path string, content any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone where it was renamed
	_, err = f.Write(append(raw, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
