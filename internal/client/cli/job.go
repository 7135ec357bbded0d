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
	all := []*cobra.Command{jobCreate(c), jobList(c), jobShow(c), jobExplain(c), jobLogs(c), jobStats(c), jobReclaim(c),
		jobLink(c), jobUnlink(c), jobAnswer(c), jobClaim(c), jobComplete(c), jobRelease(c), jobProgress(c), jobFail(c),
		jobAsk(c), jobRenew(c), jobWatch(c)}
	for _, d := range decisions {
		all = append(all, decide(c, d))
	}
	return all
}

// showJob prints how a job stands after something was done with it.
func (c *cli) showJob(answer *http.Response, err error) error {
	body, job, err := readInto[api.Job](answer, err)
	if err != nil {
		return err
	}
	return c.show(body, func(w io.Writer) { c.stands(w, job) })
}

// stands says in a line how a job is.
func (s *screen) stands(w io.Writer, job api.Job) {
	said := "is " + words(string(job.Status))
	if job.Lease != nil && (job.Lease.Directive == "pause" || job.Lease.Directive == "cancel") {
		said += fmt.Sprintf("; %s was asked to %s it", cleanLine(job.Lease.Agent), job.Lease.Directive)
	}
	fmt.Fprintf(w, "%s %s: %s\n", cleanLine(job.Key), said, cleanLine(job.Title))
}

func jobAnswer(c *cli) *cobra.Command {
	var version int
	cmd := &cobra.Command{Use: "answer JOB TEXT", ValidArgsFunction: c.complete(jobKeys("blocked"), 1),
		Args: cobra.ExactArgs(2), Annotations: calls("answerJob"),
		Short: "Answer the question that parked a job",
		Long:  "Answers the question that an agent asked. With - as TEXT the answer is read from stdin."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := c.readText(args[1])
		if err != nil {
			return err
		}
		to, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(to.AnswerJob(cmd.Context(), args[0], api.AnswerAction{Answer: text,
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
	cmd := &cobra.Command{Use: "link JOB OTHER", ValidArgsFunction: c.complete(jobKeys(), 2),
		Args: cobra.ExactArgs(2), Short: "Link a job with another one, which it waits for", Annotations: calls("linkJob"),
		Long: "Links a job with another one: by default it waits until OTHER is completed. The types parent, discovered_from,\n" +
			"duplicates and supersedes inform; a parent may wait for the job with --gate."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(to.LinkJob(cmd.Context(), args[0], api.NewLink{DependsOn: args[1], Type: some(api.LinkType(kind)),
			Gate: flagValue(cmd, "gate", gate)}))
	}
	cmd.Flags().StringVar(&kind, "type", "", "`type` of the link: blocks, parent, discovered_from, duplicates, supersedes")
	cmd.Flags().BoolVar(&gate, "gate", false, "the parent waits until the job has ended")
	return cmd
}

func jobUnlink(c *cli) *cobra.Command {
	var kind string
	cmd := &cobra.Command{Use: "unlink JOB OTHER", ValidArgsFunction: c.complete(jobKeys(), 2),
		Args: cobra.ExactArgs(2), Short: "Take a link between two jobs away", Annotations: calls("unlinkJob")}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		return c.showJob(to.UnlinkJob(cmd.Context(), args[0], args[1], &api.UnlinkJobParams{Type: some(api.LinkType(kind))}))
	}
	cmd.Flags().StringVar(&kind, "type", "", "only the link of this `type`")
	return cmd
}

func jobReclaim(c *cli) *cobra.Command {
	return &cobra.Command{Use: "reclaim [JOB]", ValidArgsFunction: c.complete(jobKeys(), 1),
		Args: cobra.MaximumNArgs(1), Annotations: calls("reclaimLeases"),
		Short: "Take back leases that are past their time, or that of one job",
		RunE: printed(c, func(ctx context.Context, to *api.Client, args []string) (*http.Response, error) {
			var which api.ReclaimRequest
			if len(args) > 0 {
				which.Job = &args[0]
			}
			return to.ReclaimLeases(ctx, which)
		}, func(w io.Writer, said api.Reclaimed) {
			fmt.Fprintf(w, "Leases taken back: %d\n", said.Released)
		})}
}
