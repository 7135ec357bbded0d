package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
)

// cli is one run of the command.
type cli struct {
	screen
	context, server string
	// asked is the server of the last call.
	asked target
}

// screen is where a command prints, for people or for programs.
type screen struct {
	env                  Env
	json, noColor, quiet bool
	output, jq           string
	// filter is the expression of --jq, nil without it.
	filter func(answer any) gojq.Iter
}

// Run carries out a command line and returns the exit code.
func Run(ctx context.Context, args []string, env Env) int {
	out := &keptWriter{to: env.Out}
	env.Out = out
	c := &cli{screen: screen{env: env}}
	root := c.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if lost := out.failed(); lost != nil {
		err = lost
	}
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	c.complain(err)
	c.advise(err)
	return exitCode(err)
}

// NewRoot returns the tree of commands, for its description.
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
		Version: client.Describe(),
		Example: "  fleet job create \"Add a licence\" --repo hello\n  fleet job list --jq '.items[].title'\n  fleet help exit-codes",
		RunE:    needsCommand, Args: cobra.ArbitraryArgs, PersistentPreRunE: c.chooseOutput,
	}
	root.SetIn(c.env.In)
	root.SetOut(c.env.Out)
	root.SetErr(c.env.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&c.context, "context", "", "use this context, as `name`")
	_ = root.RegisterFlagCompletionFunc("context", c.completeContexts)
	flags.StringVar(&c.server, "server", "", "ask the server at this `address`")
	c.addOutputFlags(flags)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand(c))
	root.AddCommand(factory{c}.workerCommand(), c.mcpCommand(), c.simCommand(), c.demoCommand(), c.scalerCommand())
	root.AddCommand(versionCommand(c), loginCommand(c), logoutCommand(c), contextCommand(c), exitCodesTopic(),
		jobCommand(c), backlogCommand(c), eventsCommand(c), budgetCommand(c), factoryCommand(c), poolCommand(c), issuerCommand(c),
		webhookCommand(c), stopCommand(c),
		releaseCommand(c), dispatchCommand(c), notificationsCommand(c), agentCommand(c), productCommand(c), messageCommand(c),
		busCommand(c), blobCommand(c), importCommand(c), doctorCommand(c), coordinatorCommand(c), usageCommand(c))
	root.AddCommand(c.verbsBelow("")...)
	c.completeFlags(root)
	addExamples(root)
	wrapArgs(root)
	return root
}

// wrapArgs makes a wrong number of arguments a mistake of usage.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fail(exitUsage, "%w; it is used as `%s`", err, cmd.UseLine())
			}
			if slices.Contains(args, "") {
				return fail(exitUsage, "an argument is empty; it is used as `%s`", cmd.UseLine())
			}
			return nil
		}
	}
	for _, below := range cmd.Commands() {
		wrapArgs(below)
	}
}

// group returns a command that only has others below it.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, RunE: needsCommand, Args: cobra.ArbitraryArgs}
	cmd.AddCommand(below...)
	return cmd
}

// callsKey is the annotation of a command that names the calls of the API that it makes.
const callsKey = "calls"

// calls says which operations of the API a command may call.
func calls(operations ...string) map[string]string {
	return map[string]string{callsKey: strings.Join(operations, " ")}
}

// complain says in a sentence what went wrong, with the fields that are refused; with
// --json it passes on the server's own refusal.
func (s *screen) complain(err error) {
	problem, refused := errors.AsType[*api.Error](err)
	if refused && s.json && s.filter == nil {
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
		fmt.Fprintf(s.env.Err, "  %s: %s\n", cleanLine(name), cleanLine((*problem.Fields)[name]))
	}
}

// advise says what helps where the server did not answer or does not know the token.
func (c *cli) advise(err error) {
	if c.json && c.filter == nil {
		return
	}
	if gone, ok := errors.AsType[*api.Unreachable](err); ok && loopback(gone.Server) {
		fmt.Fprintln(c.env.Err, "Is it running? --server and `fleet login` name another one; `fleet doctor` looks at the connection.")
	}
	if p, ok := errors.AsType[*api.Error](err); ok && p.Status == http.StatusUnauthorized && c.asked.from != "" {
		fmt.Fprintf(c.env.Err, "It was asked with the token of %s; `fleet login` keeps another one.\n", cleanLine(c.asked.from))
	}
}

// show prints the API's answer: as it came with --json, its names with --quiet, and else for
// people.
func (s *screen) show(body []byte, human func(w io.Writer)) error {
	switch {
	case s.json:
		return s.raw(body)
	case s.quiet:
		return s.printNames(body)
	}
	human(s.env.Out)
	return nil
}

// raw passes an answer on, through the expression of --jq if there is one. On a terminal what
// could control it is written as JSON allows.
func (s *screen) raw(body []byte) error {
	if s.filter != nil {
		return s.filtered(body)
	}
	text := strings.TrimRight(string(body), "\n")
	if s.env.Terminal {
		text = escapeControls(text)
	}
	_, err := fmt.Fprintln(s.env.Out, text)
	return err
}

// printRaw prints a part of an answer as JSON in a line.
func (s *screen) printRaw(part any) error {
	body, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return s.raw(body)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

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
