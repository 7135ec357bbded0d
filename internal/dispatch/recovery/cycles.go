package recovery

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/graph"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxEdges bounds the dependencies that one search for cycles reads.
	maxEdges = 100_000
	// maxPath is how many jobs of a cycle a failed job names.
	maxPath = 50
)

// FailCycles ends, in every workspace, jobs that wait for one another. It
// returns how many.
func (s *Service) FailCycles(ctx context.Context) (int, error) {
	return s.everywhere(ctx, s.failCycles)
}

// failCycles is FailCycles in one workspace. Only jobs that wait for dependencies
// count: a person who paused or blocked one has it in hand.
func (s *Service) failCycles(ctx context.Context, workspace ids.ID) (int, error) {
	var edges []graph.Edge
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		edges, err = waitingEdges(ctx, tx, workspace)
		return err
	})
	if err != nil {
		return 0, err
	}
	paths := map[ids.ID][]ids.ID{}
	var list []ids.ID
	for _, path := range graph.Cycles(edges, lease.MaxSwept) {
		list, paths[path[0]] = append(list, path[0]), path
	}
	var changed []lease.Change
	n, err := lease.ForEachJob(list, func(id ids.ID) (bool, error) {
		failed, err := s.failCycle(ctx, workspace, paths[id])
		if err == nil && failed.Happened() {
			changed = append(changed, failed)
		}
		return failed.Happened(), err
	})
	s.effects.AfterCommit(ctx, workspace, changed...)
	return n, err
}

// failCycle ends the first job of a path, in a transaction of its own, where the
// path still leads back to it. The zero change: somebody has mended it.
func (s *Service) failCycle(ctx context.Context, workspace ids.ID, path []ids.ID) (failed lease.Change, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		job, err := jobs.LockTx(ctx, tx, workspace, path[0].String())
		if err != nil {
			return err
		}
		closed, err := isClosed(ctx, tx, workspace, path)
		if err != nil {
			return err
		}
		if !closed || job.WaitReason != jobs.WaitDependency {
			return nil
		}
		keys, err := readKeys(ctx, tx, workspace, path)
		if err != nil {
			return err
		}
		d, err := job.FailCycle(keys)
		if err != nil {
			return err
		}
		saved, err := jobs.SaveTx(ctx, tx, tenancy.System(workspace, "cycles"), d)
		failed = lease.Change{Before: job.Job, After: saved}
		return err
	})
	if err != nil {
		return lease.Change{}, err
	}
	return failed, nil
}

// readKeys returns the keys of a path's jobs; of a long one the first, then the last.
func readKeys(ctx context.Context, tx db.Tx, workspace ids.ID, path []ids.ID) ([]string, error) {
	if len(path) > maxPath {
		path = append(path[:maxPath:maxPath], path[len(path)-1])
	}
	known, err := jobKeys(ctx, tx, workspace, path)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(path))
	for _, id := range path {
		keys = append(keys, known[id])
	}
	return keys, nil
}
