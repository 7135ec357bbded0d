package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fleetboard/internal/client"
)

// cli is one run of the command.
type cli struct {
	screen
	context, server string
}

// screen is where a command prints, for people or for programs.
type screen struct {
	env           Env
	json, noColor bool
}

// Run carries out a command line and returns the exit code.
func Run(ctx context.Context, args []string, env Env) int {
	c := &cli{screen: screen{env: env}}
	root := c.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	c.complain(err)
	return codeOf(err)
}

// NewRoot is the tree of commands, for its description.
func NewRoot() *cobra.Command {
	return (&cli{screen: screen{env: Env{Out: io.Discard, Err: io.Discard}}}).root()
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "fleet",
		Short: "The command line of Fleetboard",
		Long: "fleet shows and changes the jobs of a Fleetboard server, and runs agents on this machine.\n\n" +
			"It asks the server of --context, of --server or FLEETBOARD_URL, of the current context, or of this\n" +
			"machine, in this order. Log in with `fleet login`, or set FLEETBOARD_TOKEN; for a server of your own\n" +
			"on this machine neither is needed.",
		SilenceErrors: true, SilenceUsage: true,
		RunE: needsCommand, Args: cobra.ArbitraryArgs,
	}
	root.SetIn(c.env.In)
	root.SetOut(c.env.Out)
	root.SetErr(c.env.Err)
	flags := root.PersistentFlags()
	flags.BoolVar(&c.json, "json", false, "print the API's own JSON")
	flags.StringVar(&c.context, "context", "", "use this context, as `name`")
	_ = root.RegisterFlagCompletionFunc("context", c.completeContexts)
	flags.StringVar(&c.server, "server", "", "ask the server at this `address`")
	flags.BoolVar(&c.noColor, "no-color", false, "print without colour, as with NO_COLOR in the environment")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fail(exitUsage, "%w; `%s --help` shows what there is", err, cmd.CommandPath())
	})
	root.AddCommand(c.workerCommand(), c.mcpCommand(), c.simCommand(), c.demoCommand())
	root.AddCommand(versionCommand(c), loginCommand(c), logoutCommand(c), contextCommand(c), exitCodesTopic(),
		jobCommand(c), backlogCommand(c), eventsCommand(c), usageCommand(c), budgetCommand(c), factoryCommand(c),
		agentCommand(c), productCommand(c), messageCommand(c), busCommand(c), blobCommand(c), importCommand(c), doctorCommand(c))
	c.completeFlags(root)
	wrapArgs(root)
	return root
}

// needsCommand is what a command does that only has others below it.
func needsCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	guess := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		guess = fmt.Sprintf(" Did you mean %s?", strings.Join(near, " or "))
	}
	return fail(exitUsage, "`%s` has no command %q.%s `%s --help` shows those that there are", cmd.CommandPath(), args[0],
		guess, cmd.CommandPath())
}

// wrapArgs makes a wrong number of arguments a mistake of usage.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fail(exitUsage, "%w; it is used as `%s`", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, below := range cmd.Commands() {
		wrapArgs(below)
	}
}

// group is a command that only has others below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: needsCommand, Args: cobra.ArbitraryArgs}
	cmd.AddCommand(below...)
	return cmd
}

// callsKey is the annotation of a command that names the calls of the API that it makes.
const callsKey = "calls"

// calls says which operations of the API a command may ask for.
func calls(operations ...string) map[string]string {
	return map[string]string{callsKey: strings.Join(operations, " ")}
}

// complain says in a sentence what went wrong, with the fields that are refused; with
// --json it passes on the server's own refusal.
func (s *screen) complain(err error) {
	problem, refused := errors.AsType[*client.Problem](err)
	if refused && s.json {
		fmt.Fprintln(s.env.Err, strings.TrimSpace(string(problem.Body)))
		return
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(s.env.Err, "fleet: interrupted")
		return
	}
	if !refused {
		fmt.Fprintln(s.env.Err, "fleet:", cleanLine(err.Error()))
		return
	}
	said := problem.Detail
	if said == "" {
		said = problem.Title
	}
	fmt.Fprintln(s.env.Err, "fleet:", cleanLine(said))
	if problem.Fields == nil {
		return
	}
	for _, name := range sortedKeys(*problem.Fields) {
		fmt.Fprintf(s.env.Err, "  %s %s\n", cleanLine(name), cleanLine((*problem.Fields)[name]))
	}
}

// show prints the API's answer: as it came with --json, and else for people.
func (s *screen) show(body []byte, human func(w io.Writer)) error {
	if !s.json {
		human(s.env.Out)
		return nil
	}
	return s.raw(body)
}

// raw passes an answer on. On a terminal what could control it is written as JSON allows.
func (s *screen) raw(body []byte) error {
	text := strings.TrimRight(string(body), "\n")
	if s.env.Terminal {
		text = escapeControls(text)
	}
	_, err := fmt.Fprintln(s.env.Out, text)
	return err
}

// rawOf prints a part of an answer as JSON in a line.
func (s *screen) rawOf(part any) error {
	body, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return s.raw(body)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
