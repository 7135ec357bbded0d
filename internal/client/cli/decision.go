package cli

import (
	"context"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

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
	{"retry", "Run finished jobs again, with their counters at zero", "retryJob", false, of("completed", "failed", "aborted")},
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
func (of decision) ask(ctx context.Context, to *api.Client, job string, d decided) (*http.Response, error) {
	plain, reasoned := api.PlainAction{Version: d.version}, api.ReasonedAction{Reason: d.reason, Version: d.version}
	switch of.name {
	case "block":
		return to.BlockJob(ctx, job, reasoned)
	case "unblock":
		return to.UnblockJob(ctx, job, plain)
	case "pause":
		return to.PauseJob(ctx, job, plain)
	case "resume":
		return to.ResumeJob(ctx, job, plain)
	case "cancel":
		return to.CancelJob(ctx, job, reasoned)
	case "retry":
		return to.RetryJob(ctx, job, plain)
	case "approve":
		return to.ApproveJob(ctx, job, api.ApproveAction{Head: some(d.head), Version: d.version})
	case "reject":
		return to.RejectJob(ctx, job, reasoned)
	case "merge":
		return to.MergeJob(ctx, job, api.MergeAction{Commit: some(d.commit), URL: some(d.url), Version: d.version})
	default:
		return to.ArchiveJob(ctx, job, plain)
	}
}

// calls returns those of the API that the command of a decision makes.
func (of decision) calls() map[string]string {
	if of.name == "approve" {
		return calls(of.call, "explainJob")
	}
	return calls(of.call)
}

// showApproved prints how an approved job stands, and how it is merged.
func (c *cli) showApproved(ctx context.Context, to *api.Client, ask func() (*http.Response, error)) error {
	body, job, err := readInto[api.Job](ask())
	if err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) {
		c.stands(w, job)
		printSteps(w, "", c.next(ctx, to, job))
	})
}

// decide makes a command of a decision.
func decide(c *cli, of decision) *cobra.Command {
	var d decided
	var version int
	cmd := &cobra.Command{Use: of.name + " JOB…", Short: of.short, Args: cobra.MinimumNArgs(1), Annotations: of.calls(),
		ValidArgsFunction: c.complete(jobKeys(of.of...), 0)}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if of.reasoned && d.reason == "" {
			return fail(exitUsage, "a reason is needed: --reason \"…\"")
		}
		d.version = flagValue(cmd, "if-version", version)
		return c.each(func(ctx context.Context, to *api.Client, job string) error {
			if of.name != "approve" {
				return c.showJob(of.ask(ctx, to, job, d))
			}
			return c.showApproved(ctx, to, func() (*http.Response, error) { return of.ask(ctx, to, job, d) })
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
