package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/internal/client/worker"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

func (c factory) gcCommand() *cobra.Command {
	var dir, state, name string
	var clone []string
	o := repos.GCOptions{KeepUnused: worker.KeepUnused}
	cmd := &cobra.Command{
		Use: "gc", Args: cobra.NoArgs, Annotations: calls("listEndedBranches"),
		Short: "Remove what the worker needs no more: merged branches, left-over files, unused mirrors",
		Long: "gc prints what it removes, and why; --dry-run prints the same and removes nothing. It never removes from this host work\n" +
			"that is not merged and is nowhere else, nor files that an attempt works on, nor what was rescued (fleet worker rescue).\n" +
			"At the origins it removes branches that workers made, of jobs that ended longer ago than their product says\n" +
			"(fleet product set --branch-retention-days), if nobody else has touched them since. Workers do the same once an hour.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := repos.Open(repos.Options{Dir: dir, Clone: clone, State: cmp.Or(state, c.state(name)),
				Log:    slog.New(slog.NewTextHandler(c.env.Err, nil)),
				Author: repos.Identity{Name: name, Email: name + "@fleetboard.invalid"}})
			if err != nil {
				return fail(exitUsage, "%w", err)
			}
			if server, err := c.connect(); err != nil {
				c.leaveOrigins(err)
			} else {
				o.Ended = c.askEnded(func(ctx context.Context, repo string, keys []string) ([]repos.EndedBranch, error) {
					return worker.EndedBranches(ctx, server, repo, keys)
				})
			}
			return c.collect(cmd.Context(), found, o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "repos", "", "the `directory` of repositories that the worker was given")
	flags.StringArrayVar(&clone, "clone", nil, "the `pattern` of repositories that the worker was given")
	flags.StringVar(&name, "name", hostName(), "the `name` that the worker was given")
	flags.StringVar(&state, "state", "", "the `directory` that the worker was given for its state")
	flags.DurationVar(&o.KeepUnused, "keep", worker.KeepUnused, "keep mirrors that were used within this time")
	flags.BoolVar(&o.DryRun, "dry-run", false, "only print what would be removed")
	return cmd
}

// leaveOrigins says why branches at the origins are not cleaned: what is on this host is.
func (c factory) leaveOrigins(why error) {
	fmt.Fprintln(c.env.Err, "Branches at the origins are left alone, since no server says which jobs have ended: "+cleanLine(why.Error()))
}

// askEnded reads from a server which jobs have ended. One that does not answer is called once: for it
// no job has.
func (c factory) askEnded(
	ask func(context.Context, string, []string) ([]repos.EndedBranch, error),
) func(context.Context, string, []string) ([]repos.EndedBranch, error) {
	silent := false
	return func(ctx context.Context, repo string, keys []string) ([]repos.EndedBranch, error) {
		if silent {
			return nil, nil
		}
		list, err := ask(ctx, repo, keys)
		if err != nil && ctx.Err() == nil {
			c.leaveOrigins(err)
			silent, err = true, nil
		}
		return list, err
	}
}

// workerState is where a worker keeps its state unless a flag says otherwise.
func (c factory) state(name string) string { return filepath.Join(c.env.StateDir, "worker", name) }

// collect cleans up and prints what was removed.
func (c factory) collect(ctx context.Context, found *repos.Repos, o repos.GCOptions) error {
	began := time.Now()
	removed, err := found.GC(ctx, o)
	rescued, unread := found.Rescued()
	err = errors.Join(err, unread)
	for _, r := range rescued {
		fmt.Fprintf(c.env.Out, "kept %s: its work could not be saved otherwise\n", cleanLine(r.Dir))
	}
	for _, r := range removed {
		fmt.Fprintf(c.env.Out, "%s: %s\n", cleanLine(r.What), cleanLine(r.Why))
	}
	switch {
	case err != nil:
		return err
	case o.DryRun:
		fmt.Fprintf(c.env.Out, "%d would be removed.\n", len(removed))
	default:
		fmt.Fprintf(c.env.Out, "%d removed in %s.\n", len(removed), time.Since(began).Round(time.Millisecond))
	}
	return nil
}

func (c factory) rescueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rescue",
		Short: "What a worker could not save otherwise, and moved aside",
		Long: "A worker commits all that an agent leaves. What it cannot commit, such as a broken repository or names that git\n" +
			"refuses, it moves to its rescue directory, says so on the job, and never removes.",
	}
	cmd.AddCommand(c.rescueListCommand(), c.rescueRemoveCommand())
	return cmd
}

func (c factory) rescueListCommand() *cobra.Command {
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

func (c factory) rescueRemoveCommand() *cobra.Command {
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

func (c factory) rescueFlags(cmd *cobra.Command, state, name *string) {
	cmd.Flags().StringVar(name, "name", hostName(), "the `name` that the worker was given")
	cmd.Flags().StringVar(state, "state", "", "the `directory` that the worker was given for its state")
}

// rescues opens the state of a worker.
func (c factory) rescues(state, name string) (*repos.Repos, error) {
	found, err := repos.Open(repos.Options{State: cmp.Or(state, c.state(name)), Log: slog.New(slog.NewTextHandler(c.env.Err, nil))})
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return found, nil
}
