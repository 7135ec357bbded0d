package cli

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

func (c *cli) workerRescueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rescue",
		Short: "What a worker could not save otherwise, and moved aside",
		Long: "A worker commits all that an agent leaves. What it cannot commit, such as a broken repository or names that git\n" +
			"refuses, it moves to its rescue directory, says so on the job, and never removes.",
	}
	cmd.AddCommand(c.workerRescueListCommand(), c.workerRescueRemoveCommand())
	return cmd
}

func (c *cli) workerRescueListCommand() *cobra.Command {
	var state, name string
	cmd := &cobra.Command{
		Use: "list", Args: cobra.NoArgs, Short: "Show what was moved aside, and where it is",
		RunE: func(*cobra.Command, []string) error {
			found, err := c.rescues(state, name)
			if err != nil {
				return err
			}
			all, err := found.Rescued()
			for _, one := range all {
				fmt.Fprintf(c.env.Out, "%s\n  %s\n", cleanLine(one.Name), cleanLine(one.Dir))
			}
			if err == nil && len(all) == 0 {
				fmt.Fprintln(c.env.Out, "Nothing was moved aside.")
			}
			return err
		},
	}
	c.rescueFlags(cmd, &state, &name)
	return cmd
}

func (c *cli) workerRescueRemoveCommand() *cobra.Command {
	var state, name string
	cmd := &cobra.Command{
		Use: "remove NAME", Args: cobra.ExactArgs(1), Short: "Remove what was moved aside, for good",
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := c.rescues(state, name)
			if err != nil {
				return err
			}
			if err := found.RemoveRescued(args[0]); err != nil {
				return fail(exitNotFound, "%w: `fleet worker rescue list` shows what was", err)
			}
			return nil
		},
	}
	c.rescueFlags(cmd, &state, &name)
	return cmd
}

func (c *cli) rescueFlags(cmd *cobra.Command, state, name *string) {
	cmd.Flags().StringVar(name, "name", hostName(), "the `name` that the worker was given")
	cmd.Flags().StringVar(state, "state", "", "the `directory` that the worker was given for its state")
}

// rescues opens the state of a worker.
func (c *cli) rescues(state, name string) (*repos.Repos, error) {
	found, err := repos.Open(repos.Options{State: cmp.Or(state, c.workerState(name)), Log: slog.New(slog.NewTextHandler(c.env.Err, nil))})
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return found, nil
}
