package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/internal/client/demo"
	"github.com/fleetboard/fleetboard/internal/client/sim"
)

func (c *cli) demoCommand() *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "demo",
		Args:  cobra.NoArgs,
		Short: "Show a fleet at work: three workers, small repositories, a stream of jobs",
		Long: "demo makes small git repositories, products and budgets, runs three workers whose agents play scripts, and submits\n" +
			"jobs that depend on each other, ask, fail and are reviewed. Use a server of its own for it: `make demo` starts one.",
		Annotations: calls("putProduct", "createBudget", "createJobs", "listJobs", "approveJob", "rejectJob", "answerJob", "mergeJob",
			"createJob"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := c.target()
			if err != nil {
				return err
			}
			if server.token == "" || server.enrolment == "" {
				return fail(
					exitNotAllowed,
					"the demo needs an owner's token and an enrolment token of %s: FLEETBOARD_TOKEN, FLEETBOARD_ENROLMENT_TOKEN",
					server.server,
				)
			}
			o.Server, o.Owner, o.Enrolment, o.Log = server.server, server.token, server.enrolment, slog.New(
				slog.NewTextHandler(c.env.Err, &slog.HandlerOptions{Level: slog.LevelWarn}),
			)
			if o.Dir == "" {
				o.Dir = filepath.Join(c.env.StateDir, "demo")
			}
			return demo.Run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "make repositories and worktrees in this `directory`")
	cmd.Flags().DurationVar(&o.Pace, "pace", 6*time.Second, "time between two stories, on the average")
	cmd.Flags().BoolVar(&o.HandsOff, "hands-off", false, "leave reviews and questions to you")
	return cmd
}

func (c *cli) simCommand() *cobra.Command {
	var o sim.Options
	cmd := &cobra.Command{
		Use:   "sim",
		Args:  cobra.NoArgs,
		Short: "Drive fake factories against a server",
		Long: "sim registers fake agents that claim jobs, report steps and usage, and hand in, without doing anything. They die, fall\n" +
			"silent and dawdle as often as the flags say. It shows how a board looks with many hosts, and how a server bears them.\n\n" +
			"IT TAKES ANY JOB THAT ITS ENROLMENT TOKEN REACHES: use a workspace of its own.",
		Annotations: calls(
			"registerAgent",
			"heartbeat",
			"claimJobs",
			"reportProgress",
			"completeJob",
			"failJob",
			"releaseLease",
			"askQuestion",
		),
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := c.target()
			if err != nil {
				return err
			}
			if server.enrolment == "" {
				return fail(exitNotAllowed, "there is no enrolment token for %s: set FLEETBOARD_ENROLMENT_TOKEN", server.server)
			}
			o.Server, o.Enrolment, o.Log = server.server, server.enrolment, slog.New(slog.NewTextHandler(c.env.Err, nil))
			return c.simulate(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Factories, "factories", 5, "how many hosts there are")
	flags.IntVar(&o.Agents, "agents", 20, "how many agents work, on all hosts together")
	flags.StringArrayVar(&o.Repos, "repo", nil, "a `repository` that the hosts offer")
	flags.DurationVar(&o.Work, "work", 20*time.Second, "how long a job takes, on the average")
	flags.Float64Var(&o.Kill, "kill", 0.02, "share of jobs at which the agent dies")
	flags.Float64Var(&o.Partition, "partition", 0.02, "share of jobs at which it falls silent until its lease is over")
	flags.Float64Var(&o.Slow, "slow", 0.05, "share of jobs that take ten times as long")
	flags.Float64Var(&o.Fail, "fail", 0.05, "share of jobs that fail")
	flags.Float64Var(&o.Ask, "ask", 0.02, "share of jobs that ask a person")
	flags.Uint64Var(&o.Seed, "seed", 1, "two runs with the same seed draw the same")
	return cmd
}

// simulate runs until it is interrupted, and says every five seconds what has happened.
func (c *cli) simulate(ctx context.Context, o sim.Options) error {
	var counts sim.Counts
	done := make(chan error, 1)
	go func() { done <- sim.Run(ctx, o, &counts) }()
	every := time.NewTicker(5 * time.Second)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			if _, err := fmt.Fprintln(c.env.Out, counts.String()); err != nil {
				return err
			}
		case err := <-done:
			fmt.Fprintln(c.env.Out, counts.String())
			return err
		}
	}
}
