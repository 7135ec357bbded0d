package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// claimTTL is how long a lease lasts that is claimed by hand, in seconds.
	claimTTL = 900
	// silence is how often an agent of the command line says that it lives, in seconds: it
	// does not, so its leases end by their own time.
	silence = 3600
	// seatsByHand is how many jobs such an agent may hold at once.
	seatsByHand = 100
)

// claim are the flags of a claim.
type claim struct {
	agent, factory, model string
	repos, offers         []string
	engines               []string
	ttl, wait             int
}

func jobClaim(c *cli) *cobra.Command {
	var k claim
	cmd := c.command("claim [JOB]", "Claim the most urgent job, or a certain one, to work on it by hand or in a script",
		"registerAgent", "claimJobs")
	cmd.ValidArgsFunction = c.complete(jobKeys("ready"), 1)
	cmd.Long = "Claims a job as an agent of this machine, which is registered with the enrolment token of the context, of\n" +
		"FLEETBOARD_ENROLMENT_TOKEN or of the server's data directory on this machine. A job is only given to a factory\n" +
		"that offers what it needs: say what yours offers with --repo, --offer and --engine.\n\n" +
		"The lease lasts for --ttl; `fleet job renew` and `fleet job progress` make it longer. The agent's token and the\n" +
		"lease are kept in the state folder, for you alone, so that later commands can go on:\n\n" +
		"  fleet job progress FB-1 --percent 40 --step \"tests\"\n" +
		"  fleet job complete FB-1 --commit $(git rev-parse HEAD)\n\n" +
		"With nothing to claim it ends with code 7, and says why; with --json it prints null.\n" +
		"For a machine that works on its own use `fleet worker`."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return claimJob(cmd.Context(), c, k, strings.Join(args, ""))
	}
	flags := cmd.Flags()
	flags.StringVar(&k.agent, "agent", "", "`name` of the agent; by default cli-, your name and the host's")
	flags.StringVar(&k.factory, "factory", "", "`name` of the factory; by default that of the agent")
	flags.StringVar(&k.model, "model", "", "`name` of the model that works")
	flags.StringSliceVar(&k.repos, "repo", nil, "`name` of a repository that is here; repeatable")
	flags.StringSliceVar(&k.offers, "offer", nil, "`capability` that is here, as node:20; repeatable")
	flags.StringSliceVar(&k.engines, "engine", nil, "`name` of an engine that is here; repeatable")
	flags.IntVar(&k.ttl, "ttl", claimTTL, "how many seconds the lease lasts, 10 to 86400")
	flags.IntVar(&k.wait, "wait", 0, "how many seconds to wait for a job, 0 to 50")
	return cmd
}

func claimJob(ctx context.Context, c *cli, k claim, job string) error {
	at, err := c.target()
	if err != nil {
		return err
	}
	a, err := agentFor(c, at, k)
	if err != nil {
		return err
	}
	if err := c.register(ctx, a, at.enrolment); err != nil {
		return err
	}
	server, err := dial(a.Server, a.Token)
	if err != nil {
		return err
	}
	answer, err := server.ClaimJobs(ctx, api.ClaimRequest{Job: some(job), WaitSeconds: &k.wait, TTLSeconds: &k.ttl,
		RequestID: requestKey()})
	if err != nil {
		return err
	}
	if answer.StatusCode == http.StatusNoContent {
		_ = answer.Body.Close()
		if c.json {
			if err := c.raw([]byte("null")); err != nil {
				return err
			}
		}
		return fail(exitNothing, "there is nothing to claim: %s", noClaim(answer.Header.Get("X-Claim-Reason")))
	}
	body, said, err := readInto[api.Claimed](answer, nil)
	if err != nil {
		return err
	}
	for _, one := range said.Jobs {
		if err := c.env.keep(ctx, a, one.Key, one.Lease.Epoch); err != nil {
			return err
		}
	}
	return c.show(body, func(w io.Writer) {
		for _, one := range said.Jobs {
			fmt.Fprintf(w, "%s is yours, as %s, until %s: %s\n", cleanLine(one.Key), a.Name,
				one.Lease.ExpiresAt.Local().Format("15:04:05"), cleanLine(one.Title))
			facts{w}.text("body", one.Body)
			facts{w}.text("feedback", one.Feedback)
			printCarried(w, one)
			facts{w}.text("question", one.Question)
			facts{w}.text("answer", one.Answer)
		}
	})
}

// noClaim says why there is nothing to claim.
func noClaim(reason string) string {
	switch reason {
	case "empty", "":
		return "no job is ready that this agent can run"
	case "no_seats":
		return "the agent holds as many jobs as it may"
	case "draining":
		return "the factory drains, or the agent was ended"
	case "stopped":
		return "work is stopped"
	case "review_backlog":
		return "too many jobs wait for a review"
	case "budget":
		return "the budget is used up"
	case "rate_limited":
		return "the provider of the model takes no requests now"
	}
	return words(reason)
}

// agentFor returns the agent that claims: as it was kept, or a new one.
func agentFor(c *cli, at target, k claim) (*heldAgent, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	user := cmp.Or(c.env.Getenv("USER"), c.env.Getenv("LOGNAME"), "me")
	name := cmp.Or(k.agent, plainName("cli-"+user+"-"+host))
	path, err := c.env.agentPath(at.server, name)
	if err != nil {
		return nil, err
	}
	a, err := loadAgent(path)
	if err != nil {
		return nil, err
	}
	if a == nil {
		a = &heldAgent{Server: at.server, Name: name, BootID: random(), path: path}
	}
	beat, most := silence, seatsByHand
	repos := []api.Repo{}
	for _, repo := range k.repos {
		repos = append(repos, api.Repo{Name: repo})
	}
	system := runtime.GOOS
	a.Registration = api.Registration{BootID: a.BootID, Model: some(k.model), HeartbeatIntervalSeconds: &beat,
		MaxConcurrentJobs: &most,
		Factory: api.FactoryInfo{Name: cmp.Or(k.factory, name), OS: &system, Host: some(host), Seats: &most,
			Repos: &repos, Engines: list(k.engines), Capabilities: list(k.offers)}}
	return a, nil
}

func list(items []string) *[]string {
	if len(items) == 0 {
		return nil
	}
	return &items
}

// plainName returns a name of letters, digits and dashes.
func plainName(text string) string {
	return cut(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, text), 64)
}

// asHolder does something as the agent of this person that holds a job. Where none does,
// it says how jobs are claimed.
func (c *cli) asHolder(ctx context.Context, job string, do func(server *api.Client, held lease) (*http.Response,
	error)) ([]byte, *heldAgent, error) {
	at, err := c.target()
	if err != nil {
		return nil, nil, err
	}
	a, key, err := c.env.holder(at.server, job)
	if err != nil {
		return nil, nil, err
	}
	if a == nil {
		return nil, nil, fail(exitRefused,
			"you do not hold %s here: `fleet job claim %s` claims it, and this is said under the same account", job, job)
	}
	server, err := c.dialAgent(ctx, a, at.enrolment)
	if err != nil {
		return nil, nil, err
	}
	body, err := read(do(server, lease{key, a.Leases[key]}))
	return body, a, err
}

// lease names what this person holds: the job as the server writes its key, and the epoch.
type lease struct {
	job   string
	epoch int64
}

// leaseCommand returns a command for who holds a job.
func (c *cli) leaseCommand(use, short string, operations ...string) *cobra.Command {
	cmd := c.command(use, short, append(operations, "registerAgent")...)
	cmd.ValidArgsFunction = c.complete(jobKeys("assigned", "running"), 1)
	return cmd
}

// ends does what ends a lease, and forgets it.
func (c *cli) ends(ctx context.Context, job string, do func(server *api.Client, held lease) (*http.Response, error)) error {
	body, a, err := c.asHolder(ctx, job, do)
	if err != nil {
		return err
	}
	var reply api.Job
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	if err := c.env.keep(ctx, a, reply.Key, 0); err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) { printStatus(&c.screen, w, reply) })
}

// holds reports whether this person claimed a job from here.
func (c *cli) holds(job string) (bool, error) {
	at, err := c.target()
	if err != nil {
		return false, err
	}
	a, _, err := c.env.holder(at.server, job)
	return a != nil, err
}

func jobComplete(c *cli) *cobra.Command {
	var summary, commit, branch, url, result, reason string
	var files []string
	cmd := c.leaseCommand("complete JOB", "Hand in the work on a job that you claimed, or finish one that nobody holds",
		"completeJob", "finishJob")
	cmd.ValidArgsFunction = c.complete(jobKeys("assigned", "running", "ready", "waiting", "blocked", "paused"), 1)
	cmd.Long = "Hands in the work on a job that you claimed from here with `fleet job claim`. A job that you did not claim is\n" +
		"finished as a person does it, which needs a --reason; it must not be held by an agent."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var freeForm json.RawMessage
		if result != "" {
			if !json.Valid([]byte(result)) {
				return fail(exitUsage, "--result must be a JSON object")
			}
			freeForm = json.RawMessage(result)
		}
		held, err := c.holds(args[0])
		if err != nil {
			return err
		}
		if !held {
			return finishJob(cmd.Context(), c, args[0], reason, freeForm)
		}
		return c.ends(cmd.Context(), args[0], func(server *api.Client, held lease) (*http.Response, error) {
			return server.CompleteJob(cmd.Context(), api.Completion{Job: held.job, Epoch: held.epoch,
				Summary: some(cmp.Or(summary, reason)),
				Commit:  some(commit), Branch: some(branch), URL: some(url), FilesTouched: list(files), Result: freeForm})
		})
	}
	flags := cmd.Flags()
	flags.StringVar(&summary, "summary", "", "what was done")
	flags.StringVar(&commit, "commit", "", "the `commit` that has the work")
	flags.StringVar(&branch, "branch", "", "the `branch` that has it")
	flags.StringVar(&url, "url", "", "`address` of the work, such as its pull request")
	flags.StringArrayVar(&files, "file", nil, "`path` of a file that was changed; repeatable")
	flags.StringVar(&result, "result", "", "result as a `JSON` object")
	flags.StringVarP(&reason, "reason", "m", "", "why a job that nobody holds is done")
	return cmd
}

// finishJob completes a job that nobody holds.
func finishJob(ctx context.Context, c *cli, job, reason string, result json.RawMessage) error {
	if reason == "" {
		return fail(exitUsage, "you did not claim %s from here, so it is finished as a person does it, with a reason: --reason \"…\"", job)
	}
	server, err := c.connect()
	if err != nil {
		return err
	}
	return c.showJob(server.FinishJob(ctx, job, api.FinishAction{Reason: reason, Result: result}))
}

func jobRelease(c *cli) *cobra.Command {
	var reason string
	cmd := c.leaseCommand("release JOB", "Give back a job that you claimed, or take it back from its agent", "releaseLease", "releaseJob")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return fail(exitUsage, "a reason is needed: --reason \"…\"")
		}
		held, err := c.holds(args[0])
		if err != nil {
			return err
		}
		if held {
			return c.ends(cmd.Context(), args[0], func(server *api.Client, held lease) (*http.Response, error) {
				return server.ReleaseLease(cmd.Context(), api.LeaseRelease{Job: held.job, Epoch: held.epoch, Reason: reason})
			})
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(server.ReleaseJob(cmd.Context(), args[0], api.ReasonedAction{Reason: reason}))
	}
	cmd.Flags().StringVarP(&reason, "reason", "m", "", "why")
	return cmd
}

func jobFail(c *cli) *cobra.Command {
	var reason, kind, provider string
	var retryable bool
	var after int
	cmd := c.leaseCommand("fail JOB", "Say that the work on a job that you claimed failed", "failJob")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return fail(exitUsage, "what went wrong is needed: --error \"…\"")
		}
		return c.ends(cmd.Context(), args[0], func(server *api.Client, held lease) (*http.Response, error) {
			return server.FailJob(cmd.Context(), api.Failure{Job: held.job, Epoch: held.epoch, Error: reason,
				Kind: &kind, Retryable: &retryable, RetryAfterSeconds: flagValue(cmd, "retry-after", after), Provider: some(provider)})
		})
	}
	cmd.Flags().StringVarP(&reason, "error", "m", "", "what went wrong")
	cmd.Flags().StringVar(&kind, "kind", "other", "`kind` of failure, as checks_failed or timeout")
	cmd.Flags().BoolVar(&retryable, "retryable", false, "it is worth trying again")
	cmd.Flags().IntVar(&after, "retry-after", 0,
		"with --kind rate_limited: for how many `seconds` the provider takes no requests, 1 to 86400")
	cmd.Flags().StringVar(&provider, "provider", "", "with --kind rate_limited: `name` of the provider; by default the agent's")
	return cmd
}

func jobAsk(c *cli) *cobra.Command {
	var checkpoint string
	cmd := c.leaseCommand("ask JOB QUESTION", "Park a job that you claimed with a question to a person", "askQuestion")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		question, err := c.readText(args[1])
		if err != nil {
			return err
		}
		kept, err := c.readCheckpoint(checkpoint)
		if err != nil {
			return err
		}
		return c.ends(cmd.Context(), args[0], func(server *api.Client, held lease) (*http.Response, error) {
			return server.AskQuestion(cmd.Context(), api.Question{Job: held.job, Epoch: held.epoch, Question: question, Checkpoint: kept})
		})
	}
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", checkpointHelp)
	return cmd
}

// printStanding prints what a report on a lease was answered.
func (c *cli) printStanding(ctx context.Context, job string, do func(server *api.Client, held lease) (*http.Response, error)) error {
	body, _, err := c.asHolder(ctx, job, do)
	if err != nil {
		return err
	}
	var reply api.Standing
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) {
		line := string(reply.Directive)
		if reply.Reason != nil {
			line += ": " + *reply.Reason
		}
		fmt.Fprintln(w, cleanLine(line))
		if reply.ExpiresAt != nil {
			fmt.Fprintf(w, "The lease ends %s.\n", c.ago(*reply.ExpiresAt))
		}
	})
}

func jobProgress(c *cli) *cobra.Command {
	var percent int
	var step, checkpoint string
	cmd := c.leaseCommand("progress JOB", "Say how far the work on a job that you claimed is", "reportProgress")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kept, err := c.readCheckpoint(checkpoint)
		if err != nil {
			return err
		}
		report := api.ProgressReport{ProgressPercent: flagValue(cmd, "percent", percent), CurrentStep: some(step), Checkpoint: kept}
		return c.printStanding(cmd.Context(), args[0], func(server *api.Client, held lease) (*http.Response, error) {
			report.Job, report.Epoch = held.job, held.epoch
			return server.ReportProgress(cmd.Context(), report)
		})
	}
	cmd.Flags().IntVar(&percent, "percent", 0, "how much is done, 0 to 100")
	cmd.Flags().StringVar(&step, "step", "", "what is done now, in a line")
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", checkpointHelp)
	return cmd
}

const checkpointHelp = "`file` with a JSON object that the next attempt is given; - is stdin"

// readCheckpoint reads the file that --checkpoint names, nil where it names none.
func (c *cli) readCheckpoint(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := c.fileOrIn(path)
	if err != nil {
		return nil, err
	}
	if raw = bytes.TrimSpace(raw); !json.Valid(raw) {
		return nil, fail(exitUsage, "%s must have a JSON object", path)
	}
	return raw, nil
}

func jobRenew(c *cli) *cobra.Command {
	var ttl int
	cmd := c.leaseCommand("renew JOB", "Make the lease of a job that you claimed longer", "renewLease")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.printStanding(cmd.Context(), args[0], func(server *api.Client, held lease) (*http.Response, error) {
			return server.RenewLease(cmd.Context(), api.RenewRequest{Job: held.job, Epoch: held.epoch, TTLSeconds: &ttl})
		})
	}
	cmd.Flags().IntVar(&ttl, "ttl", claimTTL, "how many seconds it lasts from now, 10 to 86400")
	return cmd
}
