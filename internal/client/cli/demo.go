package cli

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/internal/client/demo"
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
			to, err := c.target()
			if err != nil {
				return err
			}
			if to.token == "" || to.enrolment == "" {
				return fail(
					exitNotAllowed,
					"the demo needs an owner's token and an enrolment token of %s: FLEETBOARD_TOKEN, FLEETBOARD_ENROLMENT_TOKEN",
					to.server,
				)
			}
			o.Server, o.Owner, o.Enrolment, o.Log = to.server, to.token, to.enrolment, slog.New(
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
