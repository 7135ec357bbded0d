package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mostTypos is how many letters may be wrong in a word for another one to be suggested.
const mostTypos = 2

// needsCommand returns what a command does that only has others below it.
func needsCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	if args[0] == "help" {
		return showHelp(cmd, args[1:])
	}
	return unknownCommand(cmd, args[0])
}

// unknownCommand says that there is no such command, and which are like it.
func unknownCommand(cmd *cobra.Command, name string) error {
	return fail(exitUsage, "`%s` has no command %q.%s `%s --help` shows those that there are", cmd.CommandPath(), name,
		suggestion(cmd, name), cmd.CommandPath())
}

// suggestion returns the question whether one of the commands below was meant.
func suggestion(cmd *cobra.Command, name string) string {
	cmd.SuggestionsMinimumDistance = mostTypos
	near := cmd.SuggestionsFor(name)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %s?", strings.Join(near, " or "))
}

// flagError says what is wrong with a flag, and which flags are like it.
func flagError(cmd *cobra.Command, err error) error {
	guess := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		guess = suggestion(flagsAsCommands(cmd), "--"+unknown.GetSpecifiedName())
	}
	return fail(exitUsage, "%w.%s `%s --help` shows what there is", err, guess, cmd.CommandPath())
}

// flagsAsCommands has a command for each flag, so that what finds similar commands finds
// similar flags.
func flagsAsCommands(cmd *cobra.Command) *cobra.Command {
	all := &cobra.Command{}
	add := func(f *pflag.Flag) {
		all.AddCommand(&cobra.Command{Use: "--" + f.Name, Hidden: f.Hidden, Run: func(*cobra.Command, []string) {}})
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return all
}

// helpCommand shows the help of any command. Unlike cobra's own it fails where there is none.
func helpCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND…]", Short: "Show the help of a command, or a topic", Args: cobra.ArbitraryArgs,
		Example:           "  fleet help job create\n  fleet help exit-codes",
		ValidArgsFunction: c.completeCommands,
		RunE:              func(cmd *cobra.Command, args []string) error { return showHelp(cmd.Root(), args) }}
}

// showHelp shows the help of a command below another one.
func showHelp(from *cobra.Command, args []string) error {
	cmd, left, err := from.Find(args)
	if err != nil || cmd == nil {
		return fail(exitUsage, "there is no help on %q", strings.Join(args, " "))
	}
	if len(left) > 0 && cmd.HasSubCommands() {
		return unknownCommand(cmd, left[0])
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

func (c *cli) completeCommands(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	at, _, err := cmd.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, below := range at.Commands() {
		if strings.HasPrefix(below.Name(), begun) && !below.Hidden {
			names = append(names, cobra.CompletionWithDesc(below.Name(), below.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
