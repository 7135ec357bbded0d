package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/forge"
	"github.com/fleetboard/fleetboard/internal/client/mcptools"
	"github.com/fleetboard/fleetboard/internal/client/worker"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// workerFlags are the flags of `fleet worker`.
type workerFlags struct {
	repos, state, name, factory, pool, check, model string
	clone, engines, labels, pass, roles             []string
	tierModels                                      []string
	submodules                                      []string
	seats                                           int
	lease, beat, maxTime, proofTime, retry          time.Duration
	forges                                          []string
	forgePoll, forgeQuiet                           time.Duration
	noTools                                         bool
}

// factory is `fleet worker` and the commands below it.
type factory struct{ *cli }

func (c factory) workerCommand() *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Args:  cobra.NoArgs,
		Short: "Make this machine a factory: claim jobs and run agents on them",
		Long: "worker registers this machine as a factory, claims jobs that it can run, and runs an agent program on each\n" +
			"in a directory and a git repository of its own. It reports steps, logs and usage, commits what the agent did, " +
			"and hands it in.\n\n" +
			"It offers each git repository below --repos, and those that --clone can clone. It looks for\n" +
			engines.Enumerate(engines.Titles(), "and") +
			"; --engine names others: command:./agent.sh runs any program, scripted plays the job's own script.\n\n" +
			"The first interrupt lets the attempts that run end; the second one saves their work and gives them back.\n" +
			"AGENTS RUN WITH YOUR RIGHTS: use an account or a container for them that may do no harm.",
		Example: "  fleet worker --repos ~/src\n" +
			"  fleet worker --repos ~/src --engine claude --seats 3 --check 'make test'\n" +
			"  fleet worker --clone 'https://git.example.com/team/*' --engine codex\n" +
			"  GITEA_TOKEN=… fleet worker --repos ~/src --forge gitea=https://git.example.com",
		Annotations: calls(
			"registerAgent",
			"heartbeat",
			"endAgent",
			"claimJobs",
			"reportProgress",
			"writeLogs",
			"writeSteps",
			"listSteps",
			"checkBudget",
			"completeJob",
			"reportDelivery",
			"failJob",
			"releaseLease",
			"askQuestion",
			"followPullRequest",
			"listEndedBranches",
			"createJob",
			"answerJob",
			"sendMessage",
			"readMessages",
			"ackMessages",
			"nackMessage",
		),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.work(cmd.Context(), f) },
	}
	cmd.AddCommand(c.gcCommand(), c.installCommand(), c.rescueCommand())
	host := hostName()
	flags := cmd.Flags()
	flags.StringVar(&f.repos, "repos", "", "offer the git repositories in this `directory`, or the one that it is")
	flags.StringArrayVar(
		&f.clone,
		"clone",
		nil,
		"offer the repositories of products that this `pattern` reaches, with * for the name: https://host/team/*",
	)
	flags.StringArrayVar(&f.submodules, "submodules", nil,
		"fetch submodules from this `host` too; those on the host of their repository's origin are fetched anyway")
	flags.StringArrayVar(&f.engines, "engine", nil, "use this `engine`: "+strings.Join(engines.Names(), ", ")+", command:LINE, scripted")
	flags.IntVar(&f.seats, "seats", 1, "work on this many jobs at once")
	flags.StringArrayVar(&f.labels, "label", nil, "offer this `capability` beside those that are found")
	flags.StringVar(&f.check, "check", "", "hand work in only where this `command` passes")
	flags.StringVar(&f.model, "model", "", "have the engine use this `model`, where neither the job's product nor --tier-model names one")
	flags.StringArrayVar(&f.tierModels, "tier-model", nil,
		"have an engine use a model for jobs of a tier, where their product names none: `ENGINE:TIER=MODEL`, as in claude:large=opus")
	flags.StringVar(&f.name, "name", host, "the agent's `name`")
	flags.StringVar(&f.factory, "factory", host, "the factory's `name` on the board")
	flags.StringVar(&f.pool, "pool", "", "the `pool` that the factory belongs to")
	flags.StringArrayVar(&f.roles, "role", nil,
		"take messages to this `role`: worker (where none is named), orchestrator, reviewer, custom:NAME")
	flags.StringVar(&f.state, "state", "", "keep mirrors, the files of attempts and what is to be sent in this `directory`")
	flags.DurationVar(&f.lease, "lease", 2*time.Minute, "give a job back that the server has not heard of for so long")
	flags.DurationVar(&f.beat, "heartbeat", 10*time.Second, "tell the server so often that the worker lives")
	flags.DurationVar(&f.proofTime, "proof-time", 10*time.Minute, "stop a product's proof command that takes longer")
	flags.DurationVar(&f.maxTime, "max-time", 2*time.Hour, "stop an attempt that takes longer; 0 is no limit")
	flags.DurationVar(&f.retry, "retry", time.Minute,
		"offer an engine or a repository that failed again after so long, doubled each time up to 30m")
	flags.StringArrayVar(&f.pass, "pass", nil, "give agents this `variable` of the environment too")
	flags.StringArrayVar(&f.forges, "forge", nil, "open pull requests at this `forge`, KIND=URL with the kind github, gitea or forgejo; "+
		"GITHUB_TOKEN and GITEA_TOKEN are their tokens")
	flags.DurationVar(&f.forgePoll, "forge-poll", 15*time.Second, "ask so often about a pull request")
	flags.DurationVar(&f.forgeQuiet, "forge-quiet", 30*time.Second, "merge a pull request that has no checks for so long")
	flags.BoolVar(&f.noTools, "no-tools", false, "give agents no tools to report, ask and file jobs with")
	return cmd
}

// Variables that `fleet scaler` sets for the workers that it starts.
const (
	poolVariable    = "FLEETBOARD_POOL"
	factoryVariable = "FLEETBOARD_FACTORY"
)

// hostName is this machine's name without its domain.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "worker"
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}

// work is `fleet worker`.
func (c factory) work(ctx context.Context, f workerFlags) error {
	o, err := c.options(f)
	if err != nil {
		return err
	}
	if c.env.Conceal != nil {
		if err := c.env.Conceal(f.pass); err != nil {
			return fmt.Errorf("the worker's tokens cannot be taken out of its environment: %w", err)
		}
	}
	stop, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	go func() {
		for n := 0; n < 2; n++ {
			select {
			case <-interrupts:
			case <-stop.Done():
				return
			}
			if n == 0 {
				o.Log.Info("claims nothing more; ends when the attempts that run have ended. Interrupt again to stop them.")
			}
		}
		cancel()
	}()
	endTraces, err := tracing.Start(ctx, "fleetboard-worker", client.Version, o.Log)
	if err != nil {
		return err
	}
	defer endTraces()
	return worker.Run(ctx, stop, o)
}

// startedFor returns the flags with the names that a scaler gives the worker, where none were given.
func (c factory) startedFor(f workerFlags) workerFlags {
	f.pool = cmp.Or(f.pool, c.env.Getenv(poolVariable))
	if name, host := c.env.Getenv(factoryVariable), hostName(); name != "" {
		if f.factory == host {
			f.factory = name
		}
		if f.name == host {
			f.name = name
		}
	}
	return f
}

// identity returns what the worker registers with where it has no enrolment token: the id of a trusted
// issuer, and the file with the platform's token.
func (c factory) identity(server target) (issuer, tokenFile string, err error) {
	issuer, tokenFile = c.env.Getenv("FLEETBOARD_ISSUER"), c.env.Getenv("FLEETBOARD_ID_TOKEN_FILE")
	switch {
	case (issuer == "") != (tokenFile == ""):
		return "", "", fail(exitUsage, "FLEETBOARD_ISSUER and FLEETBOARD_ID_TOKEN_FILE: set both or neither")
	case server.enrolment == "" && issuer == "":
		return "", "", fail(exitNotAllowed, "there is no enrolment token for %s: set FLEETBOARD_ENROLMENT_TOKEN; "+
			"Settings, Connect an agent makes one", server.server)
	}
	return issuer, tokenFile, nil
}

// workerOptions reads the flags and the target.
func (c factory) options(f workerFlags) (worker.Options, error) {
	f = c.startedFor(f)
	server, err := c.target()
	if err != nil {
		return worker.Options{}, err
	}
	issuer, tokenFile, err := c.identity(server)
	if err != nil {
		return worker.Options{}, err
	}
	if f.repos == "" && len(f.clone) == 0 {
		return worker.Options{}, fail(exitUsage, "say where the repositories are: --repos DIRECTORY, or --clone PATTERN")
	}
	if f.seats < 1 || f.seats > maxSeats {
		return worker.Options{}, fail(exitUsage, "--seats must be from 1 to %d", maxSeats)
	}
	if f.lease < 10*time.Second || f.beat < time.Second || f.beat > f.lease/2 {
		return worker.Options{}, fail(exitUsage, "--lease must be at least 10s, and --heartbeat from 1s to half of it")
	}
	if f.retry <= 0 {
		return worker.Options{}, fail(exitUsage, "--retry must be more than 0")
	}
	if f.forgePoll <= 0 || f.forgeQuiet < 0 {
		return worker.Options{}, fail(exitUsage, "--forge-poll must be more than 0, and --forge-quiet not less")
	}
	forges, err := forge.Known(f.forges, c.env.Getenv)
	if err != nil {
		return worker.Options{}, fail(exitUsage, "%w", err)
	}
	all, err := parseEngines(f.engines)
	if err != nil {
		return worker.Options{}, err
	}
	models, err := parseTierModels(f.tierModels, all)
	if err != nil {
		return worker.Options{}, err
	}
	log := slog.New(slog.NewTextHandler(c.env.Err, nil))
	found, err := repos.Open(repos.Options{Dir: f.repos, State: cmp.Or(f.state, c.state(f.name)), Clone: f.clone, Submodules: f.submodules,
		Log: log, Author: repos.Identity{Name: f.name, Email: f.name + "@fleetboard.invalid"}})
	if err != nil {
		return worker.Options{}, fail(exitUsage, "%w", err)
	}
	program := ""
	if !f.noTools {
		if program, err = os.Executable(); err != nil {
			return worker.Options{}, fmt.Errorf("the path of this program is unknown, so agents get no tools; use --no-tools: %w", err)
		}
	}
	return worker.Options{
		Server:    server.server,
		Enrolment: server.enrolment,

		Issuer:      issuer,
		IDTokenFile: tokenFile,

		Forges:     forges,
		ForgePoll:  f.forgePoll,
		ForgeQuiet: f.forgeQuiet,
		Name:       f.name,
		Factory:    f.factory,
		Pool:       f.pool,
		Roles:      f.roles,
		State:      found.State,
		Repos:      found,
		Engines:    all,
		Seats:      f.seats,
		Labels:     f.labels,
		Check:      f.check,
		Model:      f.model,
		Models:     models,
		Lease:      f.lease,
		Beat:       f.beat,
		MaxTime:    f.maxTime,
		ProofTime:  f.proofTime,
		Retry:      f.retry,
		LookedFor:  len(f.engines) == 0,
		Pass:       f.pass,
		Program:    program,
		Log:        log,
	}, nil
}

// maxSeats is the API's limit of the jobs that an agent has at once.
const maxSeats = 100

// parseEngines returns those named, or those that are looked for.
func parseEngines(names []string) ([]engines.Engine, error) {
	if len(names) == 0 {
		names = engines.Names()
	}
	var all []engines.Engine
	for _, name := range names {
		e, err := engines.ByName(name)
		if err != nil {
			return nil, fail(exitUsage, "%w", err)
		}
		all = append(all, e)
	}
	return all, nil
}

// parseTierModels returns the models for tiers, of engines that the worker has.
func parseTierModels(lines []string, all []engines.Engine) (tiermodel.Table, error) {
	table := tiermodel.Table{}
	for _, line := range lines {
		engine, tier, model, err := tiermodel.ParseLine(line)
		switch {
		case err != nil:
			return nil, fail(exitUsage, "--tier-model: %w", err)
		case model == "":
			return nil, fail(exitUsage, "--tier-model: %q names no model", line)
		case !slices.ContainsFunc(all, func(e engines.Engine) bool { return e.Name() == engine }):
			return nil, fail(exitUsage, "--tier-model: there is no engine %q here", engine)
		}
		table.Set(engine, tier, model)
	}
	return table, nil
}

// socketVariable names the socket of a worker in the environment of its agent programs.
const socketVariable = "FLEETBOARD_WORKER_SOCKET"

func (c *cli) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Args: cobra.NoArgs,
		Short: "Give an agent program the tools of its job (started by the program)",
		Long: "mcp speaks the Model Context Protocol on stdin and stdout, for an agent program that `fleet worker` runs: it can report\n" +
			"progress, ask a person, save a checkpoint and file a follow-up job. Workers start it by themselves.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			socket := c.env.Getenv(socketVariable)
			if socket == "" {
				return fail(exitUsage, "`fleet mcp` is started by agent programs that `fleet worker` runs: %s is not set", socketVariable)
			}
			return mcptools.Pipe(cmd.Context(), socket, c.env.In, c.env.Out)
		},
	}
}
