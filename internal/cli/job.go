package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/client"
)

func (c *cli) jobCommand() *cobra.Command {
	cmd := group("job", "Jobs: create, look at, decide, and work on them", c.jobCommands()...)
	cmd.Aliases = []string{"jobs"}
	return cmd
}

// jobCommands are those below `fleet job`.
func (c *cli) jobCommands() []*cobra.Command {
	all := []*cobra.Command{c.jobCreate(), c.jobList(), c.jobShow(), c.jobExplain(), c.jobLogs(), c.jobStats(), c.jobReclaim(),
		c.jobLink(), c.jobUnlink(), c.jobAnswer(), c.jobClaim(), c.jobComplete(), c.jobRelease(), c.jobProgress(), c.jobFail(),
		c.jobAsk(), c.jobRenew()}
	for _, d := range decisions {
		all = append(all, c.decision(d))
	}
	return all
}

// decided are the flags of a decision.
type decided struct {
	reason, head, commit, url string
	version                   *int
}

// decision is a verb that a person says about jobs.
type decision struct {
	name, short, call string
	// reasoned decisions need a reason.
	reasoned bool
	do       func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error)
}

var decisions = []decision{
	{"block", "Park jobs that no agent holds", "blockJob", true, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.BlockJob(ctx, job, apiclient.ReasonedAction{Reason: d.reason, Version: d.version})
	}},
	{"unblock", "Let blocked jobs go on", "unblockJob", false, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.UnblockJob(ctx, job, apiclient.PlainAction{Version: d.version})
	}},
	{"pause", "Pause jobs; agents that hold them are asked to stop", "pauseJob", false, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.PauseJob(ctx, job, apiclient.PlainAction{Version: d.version})
	}},
	{"resume", "Let paused jobs go on", "resumeJob", false, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.ResumeJob(ctx, job, apiclient.PlainAction{Version: d.version})
	}},
	{"cancel", "Cancel jobs; agents that hold them are asked to stop first", "cancelJob", true, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.CancelJob(ctx, job, apiclient.ReasonedAction{Reason: d.reason, Version: d.version})
	}},
	{"retry", "Run finished jobs again, with their counters at zero", "retryJob", false, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.RetryJob(ctx, job, apiclient.PlainAction{Version: d.version})
	}},
	{"approve", "Accept the work of jobs in review", "approveJob", false, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.ApproveJob(ctx, job, apiclient.ApproveAction{Head: some(d.head), Version: d.version})
	}},
	{"reject", "Send jobs in review back; the next attempt is told the reason", "rejectJob", true, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.RejectJob(ctx, job, apiclient.ReasonedAction{Reason: d.reason, Version: d.version})
	}},
	{"merge", "Say that the approved work of a job was merged", "mergeJob", false, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.MergeJob(ctx, job, apiclient.MergeAction{Commit: some(d.commit), URL: some(d.url), Version: d.version})
	}},
	{"archive", "Take finished jobs off the board", "archiveJob", false, func(ctx context.Context, to *client.Client, job string, d decided) (*http.Response, error) {
		return to.ArchiveJob(ctx, job, apiclient.PlainAction{Version: d.version})
	}},
}

// decision makes a command of a decision.
func (c *cli) decision(of decision) *cobra.Command {
	var d decided
	var version int
	cmd := &cobra.Command{Use: of.name + " JOB…", Short: of.short, Args: cobra.MinimumNArgs(1), Annotations: calls(of.call)}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if of.reasoned && d.reason == "" {
			return fail(exitUsage, "a reason is needed: --reason \"…\"")
		}
		d.version = given(cmd, "if-version", version)
		return c.each(func(ctx context.Context, to *client.Client, job string) error {
			return c.showJob(of.do(ctx, to, job, d))
		})(cmd, args)
	}
	cmd.Flags().IntVar(&version, "if-version", 0, "only where the job still has this `version`")
	if of.reasoned {
		cmd.Flags().StringVarP(&d.reason, "reason", "m", "", "why, for people and for the next attempt")
	}
	switch of.name {
	case "approve":
		cmd.Flags().StringVar(&d.head, "head", "", "the `commit` that was looked at; by default the one handed in")
	case "merge":
		cmd.Flags().StringVar(&d.commit, "commit", "", "the `commit` that it was merged as")
		cmd.Flags().StringVar(&d.url, "url", "", "`address` of the merge")
	}
	return cmd
}

// showJob prints how a job stands after something was done with it.
func (c *cli) showJob(answer *http.Response, err error) error {
	body, job, err := readInto[apiclient.Job](answer, err)
	if err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) { c.stands(w, job) })
}

// stands says in a line how a job is.
func (c *cli) stands(w io.Writer, job apiclient.Job) {
	said := "is " + words(string(job.Status))
	if job.Lease != nil && (job.Lease.Directive == "pause" || job.Lease.Directive == "cancel") {
		said += fmt.Sprintf("; %s was asked to %s it", cleanLine(job.Lease.Agent), job.Lease.Directive)
	}
	fmt.Fprintf(w, "%s %s: %s\n", cleanLine(job.Key), said, cleanLine(job.Title))
}

func (c *cli) jobAnswer() *cobra.Command {
	var version int
	cmd := &cobra.Command{Use: "answer JOB TEXT", Args: cobra.ExactArgs(2), Annotations: calls("answerJob"),
		Short: "Answer the question that parked a job", Long: "Answers the question that an agent asked. With - as TEXT the answer is read from stdin."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := c.textOf(args[1])
		if err != nil {
			return err
		}
		to, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(to.AnswerJob(cmd.Context(), args[0], apiclient.AnswerAction{Answer: text, Version: given(cmd, "if-version", version)}))
	}
	cmd.Flags().IntVar(&version, "if-version", 0, "only where the job still has this `version`")
	return cmd
}

// textOf is a text of the command line, or stdin where it is -.
func (c *cli) textOf(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	raw, err := io.ReadAll(io.LimitReader(c.env.In, maxInput))
	return string(raw), err
}

func (c *cli) jobLink() *cobra.Command {
	var kind string
	var gate bool
	cmd := &cobra.Command{Use: "link JOB OTHER", Args: cobra.ExactArgs(2), Short: "Link a job with another one, which it waits for", Annotations: calls("linkJob"),
		Long: "Links a job with another one: by default it waits until OTHER is completed. The types parent, discovered_from,\n" +
			"duplicates and supersedes inform; a parent may wait for the job with --gate."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(to.LinkJob(cmd.Context(), args[0], apiclient.NewLink{DependsOn: args[1], Type: some(apiclient.LinkType(kind)),
			Gate: given(cmd, "gate", gate)}))
	}
	cmd.Flags().StringVar(&kind, "type", "", "`type` of the link: blocks, parent, discovered_from, duplicates, supersedes")
	cmd.Flags().BoolVar(&gate, "gate", false, "the parent waits until the job has ended")
	return cmd
}

func (c *cli) jobUnlink() *cobra.Command {
	var kind string
	cmd := &cobra.Command{Use: "unlink JOB OTHER", Args: cobra.ExactArgs(2), Short: "Take a link between two jobs away", Annotations: calls("unlinkJob")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(to.UnlinkJob(cmd.Context(), args[0], args[1], &apiclient.UnlinkJobParams{Type: some(apiclient.LinkType(kind))}))
	}
	cmd.Flags().StringVar(&kind, "type", "", "only the link of this `type`")
	return cmd
}

func (c *cli) jobReclaim() *cobra.Command {
	return &cobra.Command{Use: "reclaim [JOB]", Args: cobra.MaximumNArgs(1), Annotations: calls("reclaimLeases"),
		Short: "Take back leases that are past their time, or that of one job",
		RunE: printed(c, func(ctx context.Context, to *client.Client, args []string) (*http.Response, error) {
			var which apiclient.ReclaimRequest
			if len(args) > 0 {
				which.Job = &args[0]
			}
			return to.ReclaimLeases(ctx, which)
		}, func(w io.Writer, said apiclient.Reclaimed) {
			fmt.Fprintf(w, "Leases taken back: %d\n", said.Released)
		})}
}
