package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// pauseWatch is between two looks where nothing came: progress is no event.
	pauseWatch = 2 * time.Second
	// watched is how many jobs are shown at once.
	watched = 20
)

func jobWatch(c *cli) *cobra.Command {
	var o watching
	var until []string
	cmd := &cobra.Command{Use: "watch [JOB]", Args: cobra.MaximumNArgs(1), Short: "Watch the jobs under way, or one until it ends",
		Annotations: calls("streamEvents", "listEvents", "listJobs", "getJob", "explainJob"), ValidArgsFunction: c.complete(jobKeys(), 1),
		Long: "Shows the jobs that are not finished, and draws them again as they change; where the output is no terminal, a\n" +
			"line for each event. With JOB it says what comes next where a person has to do something, and ends with the job:\n" +
			"with code 0 where it is completed, and 1 where it failed or was cancelled.\n\n" +
			"--until ends it earlier, with code 0, in one of these statuses; in_review also where the work was approved\n" +
			"meanwhile or needed no review. --timeout ends it with code 8.\n\n" +
			"--json prints events, with JOB the job each time that it changed, one in each line.",
		Example: "  fleet job watch\n  fleet job watch FB-1\n  fleet job watch FB-1 --until in_review,blocked --timeout 30m"}
	cmd.Flags().StringSliceVar(&until, "until", nil, "end in this `status`; several with commas or repeated")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "end after this time, as 30m; 0 is no limit")
	_ = cmd.RegisterFlagCompletionFunc("until", cobra.FixedCompletions(statuses, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if o.until, err = parseStatuses(until); err != nil {
			return err
		}
		if len(until) > 0 && len(args) == 0 {
			return fail(exitUsage, "--until is about one job: `fleet job watch JOB --until …`")
		}
		if o.timeout < 0 {
			return fail(exitUsage, "--timeout must not be less than 0")
		}
		ctx := cmd.Context()
		if o.timeout > 0 {
			limited, cancel := context.WithTimeout(ctx, o.timeout)
			defer cancel()
			ctx = limited
		}
		err = o.watch(ctx, c, args)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fail(exitTimeout, "%s was over%s", o.timeout, o.left())
		}
		return err
	}
	return cmd
}

// watching is how long jobs are watched, and the job that is, as it was last.
type watching struct {
	until   []api.JobStatus
	timeout time.Duration
	last    api.Job
}

// left says how the job is that was watched.
func (o *watching) left() string {
	if o.last.Key == "" {
		return ""
	}
	return ", and " + o.last.Key + " is " + words(string(o.last.Status))
}

func (o *watching) watch(ctx context.Context, c *cli, args []string) error {
	server, err := c.connect()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		return o.watchJob(ctx, c, server, args[0])
	}
	if !c.env.Terminal || c.json || c.quiet {
		place, err := endOfLog(ctx, server, api.EventTail{})
		if err != nil {
			return err
		}
		from := api.StreamEventsParams{Type: &[]string{"job.*"}, After: some(place)}
		return follow(ctx, c, server, from, c.eventLine)
	}
	return watchBoard(ctx, c, server)
}

// parseStatuses reads statuses as people write them: in_review, in-review, In review.
func parseStatuses(names []string) ([]api.JobStatus, error) {
	var found []api.JobStatus
	for _, name := range names {
		status := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
		if !slices.Contains(statuses, status) {
			return nil, fail(exitUsage, "%q is no status: it must be one of %s", name, strings.Join(statuses, ", "))
		}
		found = append(found, api.JobStatus(status))
	}
	return found, nil
}

// enough reports whether a job has come as far as it was to be watched.
func (o *watching) enough(status api.JobStatus) bool {
	if over(status) || slices.Contains(o.until, status) {
		return true
	}
	return status == api.JobStatusApproved && slices.Contains(o.until, api.JobStatusInReview)
}

// missed says that a job has ended otherwise than it was to.
func (o *watching) missed() error {
	status := o.last.Status
	done := status == api.JobStatusCompleted || status == api.JobStatusArchived
	later := slices.Contains(o.until, api.JobStatusInReview) || slices.Contains(o.until, api.JobStatusApproved)
	switch {
	case slices.Contains(o.until, status), !over(status), done && (len(o.until) == 0 || later):
		return nil
	}
	return fail(exitFailure, "%s is %s%s", o.last.Key, words(string(status)), describeReason(o.last))
}

// watchUntil looks at once, and again when something happened or a while has passed, until look
// says that it is enough.
func watchUntil(ctx context.Context, c *cli, server *api.Client, job string, look func() (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	place, err := endOfLog(ctx, server, api.EventTail{})
	if err != nil {
		return err
	}
	news := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		from := api.StreamEventsParams{Type: &[]string{"job.*"}, Job: some(job), After: some(place)}
		ended <- follow(ctx, c, server, from, func(api.Event) error {
			select {
			case news <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	every := time.NewTicker(c.env.pace(pauseWatch))
	defer every.Stop()
	for {
		if enough, err := look(); enough || err != nil && !passes(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case <-news:
		case <-every.C:
		}
	}
}

// watchJob prints how a job changes until it has come far enough.
func (o *watching) watchJob(ctx context.Context, c *cli, server *api.Client, key string) error {
	_, first, err := readInto[api.Job](server.GetJob(ctx, key))
	if err != nil {
		return err
	}
	key = first.Key
	screen := &redrawn{c: c}
	told := ""
	err = watchUntil(ctx, c, server, key, func() (bool, error) {
		body, job, err := readInto[api.Job](server.GetJob(ctx, key))
		if err != nil {
			return false, err
		}
		moved := job.Status != o.last.Status
		o.last = job
		line := c.progressLine(job)
		if line == told {
			return o.enough(job.Status), nil
		}
		told = line
		switch {
		case c.json:
			err = c.raw(body)
		case !c.quiet:
			err = screen.draw(line + "\n" + c.stepsBelow(ctx, server, job, moved))
		}
		return o.enough(job.Status), err
	})
	if err != nil {
		return err
	}
	return o.missed()
}

// stepsBelow returns the next steps of a person, below the line of a job. On a terminal they are
// drawn again with the line, elsewhere once.
func (c *cli) stepsBelow(ctx context.Context, server *api.Client, job api.Job, moved bool) string {
	if !moved && !c.env.Terminal {
		return ""
	}
	var text strings.Builder
	printSteps(&text, "", c.next(ctx, server, job))
	return text.String()
}

// progressLine says how a job is and what is done on it now.
func (s *screen) progressLine(job api.Job) string {
	line := cleanLine(job.Key) + " " + s.paint(words(string(job.Status)), paints[string(job.Status)])
	if doing := now(job); doing != "" {
		line += " (" + cleanLine(doing) + ")"
	}
	if job.CurrentStep != "" && !over(job.Status) {
		line += ": " + cleanLine(job.CurrentStep)
	}
	return line
}

// watchBoard draws the jobs that are not finished, again and again.
func watchBoard(ctx context.Context, c *cli, server *api.Client) error {
	screen := &redrawn{c: c}
	open := of("assigned", "running", "in_review", "blocked", "paused", "approved", "ready", "waiting")
	most, order := watched, api.ListJobsParamsSort("updated")
	return watchUntil(ctx, c, server, "", func() (bool, error) {
		_, said, err := readInto[api.JobPage](server.ListJobs(ctx, &api.ListJobsParams{Status: &open, Limit: &most, Sort: &order}))
		if err != nil {
			return false, err
		}
		var drawn bytes.Buffer
		fmt.Fprintf(&drawn, "%s  %s\n", c.paint(c.env.Now().Local().Format(time.TimeOnly), dim),
			"The jobs that changed last; Ctrl-C ends this.")
		said.NextCursor = ""
		printJobs(&c.screen, &drawn, said)
		return false, screen.draw(drawn.String())
	})
}

// redrawn is a text that takes the place of the one before on a terminal, and follows it
// elsewhere.
type redrawn struct {
	c     *cli
	lines int
}

// draw shows a text. Long lines are cut by the terminal, so that the next drawing finds
// where this one began.
func (r *redrawn) draw(text string) error {
	if !r.c.env.Terminal {
		_, err := io.WriteString(r.c.env.Out, text)
		return err
	}
	up := ""
	if r.lines > 0 {
		up = fmt.Sprintf("\x1b[%dA\r\x1b[J", r.lines)
	}
	r.lines = bytes.Count([]byte(text), []byte("\n"))
	_, err := fmt.Fprintf(r.c.env.Out, "%s\x1b[?7l%s\x1b[?7h", up, text)
	return err
}
