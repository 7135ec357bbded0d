package cli

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

// stepFlags are what of a transcript is shown.
var stepFlags = []flag{
	{"after", "after", "the steps behind the one of this `number`", nil},
	{"kind", "kind", "of these `kinds`: message, reasoning, tool, output, edit, plan, usage, person", nil},
}

func jobSteps(c *cli) *cobra.Command {
	var follow bool
	var attempt int64
	takes := reflect.TypeFor[api.ListStepsParams]()
	cmd := c.command("steps JOB", "Show what the agent of an attempt did, step by step", "listSteps", "listAttempts")
	cmd.Long = "Shows the transcript of the newest attempt on a job, or of another one, oldest first. With -f it goes on until the\n" +
		"attempt has ended. --json prints a step as JSON in each line."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		fields, err := c.fields(cmd.Flags(), takes, stepFlags)
		if err != nil {
			return err
		}
		params, err := parameters[api.ListStepsParams](fields)
		if err != nil {
			return err
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		f := stepFollower{c: c, to: server, job: args[0], epoch: attempt, params: params}
		if f.params == nil {
			f.params = &api.ListStepsParams{}
		}
		f.params.Limit = new(200)
		return f.run(cmd.Context(), follow)
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the attempt has ended")
	cmd.Flags().Int64Var(&attempt, "attempt", 0, "of this `attempt`; the newest one where it is left out")
	addFlags(cmd.Flags(), takes, stepFlags)
	return cmd
}

// stepFollower reads the steps of an attempt as they come.
type stepFollower struct {
	c      *cli
	to     *api.Client
	job    string
	epoch  int64
	params *api.ListStepsParams
}

func (f *stepFollower) run(ctx context.Context, follow bool) error {
	every := time.NewTicker(f.c.env.pace(pollLogs))
	defer every.Stop()
	for {
		ended, err := f.look(ctx)
		if err != nil {
			return err
		}
		// The steps are read after the attempt, so that none of an ended one is missed.
		if err := f.pages(ctx); err != nil || ended || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

// look reports whether the attempt has ended; the first time it chooses the newest one.
func (f *stepFollower) look(ctx context.Context) (ended bool, err error) {
	_, said, err := readInto[api.AttemptPage](f.to.ListAttempts(ctx, f.job, &api.ListAttemptsParams{Limit: new(200)}))
	if err != nil || len(said.Items) == 0 {
		return true, err
	}
	if f.epoch == 0 {
		f.epoch = said.Items[0].Epoch
	}
	newest := said.Items[0]
	return newest.Epoch != f.epoch || newest.EndedAt != nil, nil
}

// pages prints what there is.
func (f *stepFollower) pages(ctx context.Context) error {
	for f.epoch > 0 {
		_, said, err := readInto[api.StepPage](f.to.ListSteps(ctx, f.job, f.epoch, f.params))
		if err != nil {
			return err
		}
		for _, s := range said.Items {
			if err := f.c.printStep(s); err != nil {
				return err
			}
		}
		if f.params.After = &said.NextAfter; !said.More {
			return nil
		}
	}
	return nil
}

// printStep prints a step: its time, number, kind and title, and its text set in below them.
func (s *screen) printStep(step api.Step) error {
	switch {
	case s.json:
		return s.printRaw(step)
	case s.quiet:
		return nil
	}
	colour := map[api.StepKind]string{"tool": yellow, "output": dim, "reasoning": dim, "usage": dim}[step.Kind]
	line := fmt.Sprintf("%s %4d %s %s", s.paint(step.At.Local().Format(time.TimeOnly), dim), step.N,
		s.paint(fmt.Sprintf("%-9s", step.Kind), colour), cleanLine(step.Title))
	if step.Tokens != nil {
		line += fmt.Sprintf(" (%d tokens)", *step.Tokens)
	}
	if step.CostUSD != nil {
		line += " " + dollars(*step.CostUSD)
	}
	if _, err := fmt.Fprintln(s.env.Out, line); err != nil {
		return err
	}
	if step.Text == nil || strings.TrimSpace(*step.Text) == cleanLine(step.Title) {
		return nil
	}
	for text := range strings.Lines(clean(strings.TrimRight(*step.Text, "\n"))) {
		if _, err := io.WriteString(s.env.Out, "     "+strings.TrimRight(text, "\n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}
