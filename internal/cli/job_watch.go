package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/client"
)

const (
	// pauseWatch is between two looks where nothing was heard: progress is no event.
	pauseWatch = 2 * time.Second
	// watched is how many jobs are shown at once.
	watched = 20
)

func jobWatch(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "watch [JOB]", Args: cobra.MaximumNArgs(1), Short: "Watch the jobs under way, or one until it ends",
		Annotations: calls("streamEvents", "listEvents", "listJobs", "getJob"), ValidArgsFunction: c.complete(jobKeys(), 1),
		Long: "Shows the jobs that are not finished, and draws them again as they change; where the output is no terminal, a\n" +
			"line for each event. With JOB it ends with the job: with code 0 where it is completed, and 1 where it failed or\n" +
			"was cancelled. --json prints events, with JOB the job each time that it changed, one in each line."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := c.connect()
		if err != nil {
			return err
		}
		if len(args) == 1 {
			return watchJob(cmd.Context(), c, to, args[0])
		}
		if !c.env.Terminal || c.json {
			place, err := endOfLog(cmd.Context(), to, apiclient.EventTail{})
			if err != nil {
				return err
			}
			from := apiclient.StreamEventsParams{Type: &[]string{"job.*"}, After: some(place)}
			return follow(cmd.Context(), c, to, from, func(one apiclient.Event) (bool, error) { return false, c.eventLine(one) })
		}
		return watchBoard(cmd.Context(), c, to)
	}
	return cmd
}

// watchUntil looks at once, and again when something happened or a while has passed, until look
// says that it is enough.
func watchUntil(ctx context.Context, c *cli, to *client.Client, job string, look func() (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	place, err := endOfLog(ctx, to, apiclient.EventTail{})
	if err != nil {
		return err
	}
	news := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		from := apiclient.StreamEventsParams{Type: &[]string{"job.*"}, Job: some(job), After: some(place)}
		ended <- follow(ctx, c, to, from, func(apiclient.Event) (bool, error) {
			select {
			case news <- struct{}{}:
			default:
			}
			return false, nil
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

// watchJob tells how a job changes until it ends.
func watchJob(ctx context.Context, c *cli, to *client.Client, key string) error {
	screen := &redrawn{c: c}
	var last apiclient.Job
	told := ""
	err := watchUntil(ctx, c, to, key, func() (bool, error) {
		body, job, err := readInto[apiclient.Job](to.GetJob(ctx, key))
		if err != nil {
			return false, err
		}
		last = job
		line := c.progressLine(job)
		if line != told {
			told = line
			if c.json {
				err = c.raw(body)
			} else {
				err = screen.draw(line + "\n")
			}
		}
		return over(job.Status), err
	})
	if err == nil && last.Status != apiclient.JobStatusCompleted && last.Status != apiclient.JobStatusArchived {
		return fail(exitFailure, "%s is %s%s", key, words(string(last.Status)), reasonOf(last))
	}
	return err
}

// progressLine says how a job is and what is done on it now.
func (s *screen) progressLine(job apiclient.Job) string {
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
func watchBoard(ctx context.Context, c *cli, to *client.Client) error {
	screen := &redrawn{c: c}
	open := of("assigned", "running", "in_review", "blocked", "paused", "approved", "ready", "waiting")
	most, order := watched, apiclient.ListJobsParamsSort("updated")
	return watchUntil(ctx, c, to, "", func() (bool, error) {
		_, said, err := readInto[apiclient.JobPage](to.ListJobs(ctx, &apiclient.ListJobsParams{Status: &open, Limit: &most, Sort: &order}))
		if err != nil {
			return false, err
		}
		var drawn bytes.Buffer
		fmt.Fprintf(&drawn, "%s  %s\n", c.paint(c.env.Now().Local().Format(time.TimeOnly), dim),
			"The jobs that changed last; Ctrl-C ends this.")
		said.NextCursor = ""
		c.tableOfJobs(&drawn, said)
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
