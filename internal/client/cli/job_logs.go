package cli

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// pollLogs is how often a followed log is read; looksAtJob is how many times in
	// between the job is looked at, whether it has ended.
	pollLogs   = time.Second
	looksAtJob = 5
	// backPages bounds how far back a follower reads for lines it has not seen.
	backPages = 20
)

// logFlags are what of a log is shown.
var logFlags = slices.Concat([]flag{
	{"level", "level", "this `level` and those above: DEBUG, INFO, WARNING, ERROR, CRITICAL", nil},
}, pages)

func jobLogs(c *cli) *cobra.Command {
	var follow bool
	takes := reflect.TypeFor[api.ListJobLogsParams]()
	cmd := c.command("logs JOB", "Show what agents wrote down while they worked", "listJobLogs", "getJob")
	cmd.Long = "Shows the newest lines of the log of a job, oldest first. With -f it goes on until the job has ended; --json then\n" +
		"prints one line of the log as JSON in each line."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := c.fields(cmd.Flags(), takes, logFlags)
		if err != nil {
			return err
		}
		params, err := parameters[api.ListJobLogsParams](fields)
		if err != nil {
			return err
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		body, said, err := readInto[api.LogPage](server.ListJobLogs(cmd.Context(), args[0], params))
		if err != nil {
			return err
		}
		if c.json && !follow {
			return c.raw(body)
		}
		slices.Reverse(said.Items)
		for _, line := range said.Items {
			if err := c.logLine(line); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		f := follower{c: c, to: server, job: args[0], level: params.Level}
		if len(said.Items) > 0 {
			f.last = said.Items[len(said.Items)-1].ID
		}
		return f.run(cmd.Context())
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job has ended")
	addFlags(cmd.Flags(), takes, logFlags)
	return cmd
}

// follower reads the lines of a log as they come.
type follower struct {
	c     *cli
	to    *api.Client
	job   string
	level *api.LogLevel
	last  int64
}

func (f *follower) run(ctx context.Context) error {
	every := time.NewTicker(f.c.env.pace(pollLogs))
	defer every.Stop()
	for round := 0; ; round++ {
		ended := false
		if round%looksAtJob == 0 {
			_, job, err := readInto[api.Job](f.to.GetJob(ctx, f.job))
			if err != nil {
				return err
			}
			ended = over(job.Status)
		}
		// The lines are read after the status, so that none of an ended job is missed.
		if err := f.news(ctx); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

// over reports whether nothing happens with a job any more until a person wants it.
func over(s api.JobStatus) bool {
	return slices.Contains(of("completed", "failed", "aborted", "archived"), s)
}

// news prints the lines that came since the last one.
func (f *follower) news(ctx context.Context) error {
	var fresh []api.LogLine
	var cursor string
	most := 200
	for range backPages {
		_, said, err := readInto[api.LogPage](f.to.ListJobLogs(ctx, f.job,
			&api.ListJobLogsParams{Level: f.level, Cursor: some(cursor), Limit: &most}))
		if err != nil {
			return err
		}
		known := slices.IndexFunc(said.Items, func(l api.LogLine) bool { return l.ID <= f.last })
		if known >= 0 {
			said.Items = said.Items[:known]
		}
		fresh = append(fresh, said.Items...)
		if cursor = said.NextCursor; known >= 0 || cursor == "" {
			break
		}
	}
	slices.Reverse(fresh)
	for _, line := range fresh {
		f.last = line.ID
		if err := f.c.logLine(line); err != nil {
			return err
		}
	}
	return nil
}

// logLine prints a line of a log: its time, level, event and message.
func (s *screen) logLine(line api.LogLine) error {
	switch {
	case s.json:
		return s.printRaw(line)
	case s.quiet:
		return nil
	}
	colour := map[api.LogLevel]string{"DEBUG": dim, "WARNING": yellow, "ERROR": red, "CRITICAL": red}[line.Level]
	at := line.ReceivedAt
	if line.At != nil {
		at = *line.At
	}
	event := ""
	if line.Event != "" {
		event = cleanLine(line.Event) + ": "
	}
	_, err := fmt.Fprintf(s.env.Out, "%s %s %s\n", s.paint(at.Local().Format(time.TimeOnly), dim),
		s.paint(fmt.Sprintf("%-7s", line.Level), colour), event+cleanLine(line.Message))
	return err
}
