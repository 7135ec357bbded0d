package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func jobCommand(c *cli) *cobra.Command {
	cmd := group("job", "Jobs: create, look at, decide, and work on them", jobCommands(c)...)
	cmd.Aliases = []string{"jobs"}
	return cmd
}

// jobCommands returns those below `fleet job`.
func jobCommands(c *cli) []*cobra.Command {
	all := []*cobra.Command{jobCreate(c), jobList(c), jobShow(c), jobLogs(c), jobSteps(c), jobReclaim(c),
		jobLink(c), jobUnlink(c), jobRank(c), jobAnswer(c), jobComment(c), jobClaim(c), jobComplete(c), jobRelease(c), jobProgress(c),
		jobFail(c),
		jobAsk(c), jobRenew(c), jobWatch(c)}
	for _, d := range decisions {
		all = append(all, decide(c, d))
	}
	return append(all, c.verbsBelow("job")...)
}

// showJob prints how a job stands after something was done with it.
func (c *cli) showJob(response *http.Response, err error) error {
	return answer(c, printStatus)(response, err)
}

// printStatus says in a line how a job is.
func printStatus(_ *screen, w io.Writer, job api.Job) {
	said := "is " + words(string(job.Status))
	if job.Lease != nil && (job.Lease.Directive == "pause" || job.Lease.Directive == "cancel") {
		said += fmt.Sprintf("; %s was asked to %s it", cleanLine(job.Lease.Agent), job.Lease.Directive)
	}
	fmt.Fprintf(w, "%s %s: %s\n", cleanLine(job.Key), said, cleanLine(job.Title))
}

func jobAnswer(c *cli) *cobra.Command {
	var version int
	cmd := c.command("answer JOB TEXT", "Answer the question that parked a job", "answerJob")
	cmd.Long = "Answers the question that an agent asked. With - as TEXT the answer is read from stdin."
	cmd.ValidArgsFunction = c.complete(jobKeys("blocked"), 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := c.readText(args[1])
		if err != nil {
			return err
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(server.AnswerJob(cmd.Context(), args[0], api.AnswerAction{Answer: text,
			Version: flagValue(cmd, "if-version", version)}))
	}
	cmd.Flags().IntVar(&version, "if-version", 0, "only where the job still has this `version`")
	return cmd
}

// readText returns a text of the command line, or stdin where it is -.
func (s *screen) readText(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	raw, err := io.ReadAll(io.LimitReader(s.env.In, maxInput))
	return string(raw), err
}

func jobLink(c *cli) *cobra.Command {
	var kind string
	var gate bool
	cmd := c.command("link JOB OTHER", "Link a job with another one, which it waits for", "linkJob")
	cmd.Long = "Links a job with another one: by default it waits until OTHER is completed. The types parent, discovered_from,\n" +
		"duplicates and supersedes inform; a parent may wait for the job with --gate."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		server, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(server.LinkJob(cmd.Context(), args[0], api.NewLink{DependsOn: args[1], Type: some(api.LinkType(kind)),
			Gate: flagValue(cmd, "gate", gate)}))
	}
	cmd.Flags().StringVar(&kind, "type", "", "`type` of the link: blocks, parent, discovered_from, duplicates, supersedes")
	cmd.Flags().BoolVar(&gate, "gate", false, "the parent waits until the job has ended")
	return cmd
}

func jobRank(c *cli) *cobra.Command {
	var rank api.JobRank
	var before, after string
	var clear bool
	cmd := c.command("rank JOB", "Say which job agents get first", "rankJob")
	cmd.Long = "Puts a job right before or right after another one of its product and priority. Claims give ready jobs in that\n" +
		"order; a job that is not ready keeps its rank until it is. --clear puts it back to where it stands by its waiting."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		server, err := c.connect()
		if err != nil {
			return err
		}
		rank.Before, rank.After = some(before), some(after)
		return c.showJob(server.RankJob(cmd.Context(), args[0], rank))
	}
	cmd.Flags().StringVar(&before, "before", "", "right before this `job`")
	cmd.Flags().StringVar(&after, "after", "", "right after this `job`")
	cmd.Flags().BoolVar(&clear, "clear", false, "to where it stands by its waiting")
	cmd.MarkFlagsMutuallyExclusive("before", "after", "clear")
	cmd.MarkFlagsOneRequired("before", "after", "clear")
	return cmd
}

func jobUnlink(c *cli) *cobra.Command {
	var kind string
	cmd := c.command("unlink JOB OTHER", "Take a link between two jobs away", "unlinkJob")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		server, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(server.UnlinkJob(cmd.Context(), args[0], args[1], &api.UnlinkJobParams{Type: some(api.LinkType(kind))}))
	}
	cmd.Flags().StringVar(&kind, "type", "", "only the link of this `type`")
	return cmd
}

func jobReclaim(c *cli) *cobra.Command {
	cmd := c.command("reclaim [JOB]", "Take back leases that are past their time, or that of one job", "reclaimLeases")
	cmd.RunE = callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
		var which api.ReclaimRequest
		if len(args) > 0 {
			which.Job = &args[0]
		}
		return server.ReclaimLeases(ctx, which)
	}, func(_ *screen, w io.Writer, reply api.Reclaimed) {
		fmt.Fprintf(w, "Leases taken back: %d\n", reply.Released)
	})
	return cmd
}

// decision is a verb that people say of jobs.
type decision struct {
	name, short, call string
	// reasoned ones need a reason.
	reasoned bool
	// of are the statuses that a shell offers jobs of.
	of []api.JobStatus
}

var decisions = []decision{
	{"block", "Park jobs that no agent holds", "blockJob", true, of("waiting", "ready", "paused")},
	{"unblock", "Let blocked jobs go on", "unblockJob", false, of("blocked")},
	{"pause", "Pause jobs; agents that hold them are asked to stop", "pauseJob", false, of("waiting", "ready", "assigned", "running")},
	{"resume", "Let paused jobs go on", "resumeJob", false, of("paused", "assigned", "running")},
	{"cancel", "Cancel jobs; agents that hold them are asked to stop first", "cancelJob", true,
		of("waiting", "ready", "assigned", "running", "paused", "blocked", "in_review", "approved")},
	{"retry", "Run finished jobs again; -m says what more is to be done", "retryJob", false, of("completed", "failed", "aborted")},
	{"approve", "Accept the work of jobs in review", "approveJob", false, of("in_review")},
	{"reject", "Send jobs in review back; the next attempt is told the reason", "rejectJob", true, of("in_review")},
	{"merge", "Say that the approved work of a job was merged", "mergeJob", false, of("approved")},
	{"archive", "Take finished jobs off the board", "archiveJob", false, of("completed", "failed", "aborted")},
}

func of(statuses ...api.JobStatus) []api.JobStatus { return statuses }

// decided is what is said with a decision.
type decided struct {
	reason, head, commit, url string
	version                   *int
}

// ask requests the decision from the server.
func (of decision) ask(ctx context.Context, server *api.Client, job string, d decided) (*http.Response, error) {
	plain, reasoned := api.PlainAction{Version: d.version}, api.ReasonedAction{Reason: d.reason, Version: d.version}
	switch of.name {
	case "block":
		return server.BlockJob(ctx, job, reasoned)
	case "unblock":
		return server.UnblockJob(ctx, job, plain)
	case "pause":
		return server.PauseJob(ctx, job, plain)
	case "resume":
		return server.ResumeJob(ctx, job, plain)
	case "cancel":
		return server.CancelJob(ctx, job, reasoned)
	case "retry":
		return server.RetryJob(ctx, job, api.RetryAction{Reason: some(d.reason), Version: d.version})
	case "approve":
		return server.ApproveJob(ctx, job, api.ApproveAction{Head: some(d.head), Version: d.version})
	case "reject":
		return server.RejectJob(ctx, job, reasoned)
	case "merge":
		return server.MergeJob(ctx, job, api.MergeAction{Commit: some(d.commit), URL: some(d.url), Version: d.version})
	default:
		return server.ArchiveJob(ctx, job, plain)
	}
}

// calls returns those of the API that the command of a decision makes.
func (of decision) calls() []string {
	if of.name == "approve" {
		return []string{of.call, "explainJob"}
	}
	return []string{of.call}
}

// showApproved prints how an approved job stands, and how it is merged.
func (c *cli) showApproved(ctx context.Context, server *api.Client, ask func() (*http.Response, error)) error {
	body, job, err := readInto[api.Job](ask())
	if err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) {
		printStatus(&c.screen, w, job)
		printSteps(w, "", c.next(ctx, server, job))
	})
}

// decide makes a command of a decision.
func decide(c *cli, of decision) *cobra.Command {
	var d decided
	var version int
	cmd := c.command(of.name+" JOB…", of.short, of.calls()...)
	cmd.ValidArgsFunction = c.complete(jobKeys(of.of...), 0)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if of.reasoned && d.reason == "" {
			return fail(exitUsage, "a reason is needed: --reason \"…\"")
		}
		d.version = flagValue(cmd, "if-version", version)
		server, err := c.connect()
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		return c.forEach(args, func(job string) error {
			if of.name != "approve" {
				return c.showJob(of.ask(ctx, server, job, d))
			}
			return c.showApproved(ctx, server, func() (*http.Response, error) { return of.ask(ctx, server, job, d) })
		})
	}
	cmd.Flags().IntVar(&version, "if-version", 0, "only where the job still has this `version`")
	if of.reasoned {
		cmd.Flags().StringVarP(&d.reason, "reason", "m", "", "why, for people and for the next attempt")
	}
	switch of.name {
	case "retry":
		cmd.Flags().StringVarP(&d.reason, "reason", "m", "", "what more is to be done, for the next attempt")
	case "approve":
		cmd.Flags().StringVar(&d.head, "head", "", "the `commit` that was looked at; by default the one handed in")
	case "merge":
		cmd.Flags().StringVar(&d.commit, "commit", "", "the `commit` that it was merged as")
		cmd.Flags().StringVar(&d.url, "url", "", "`address` of the merge")
	}
	return cmd
}
