package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/graph"
)

// refuseCycle is DependencyCycle where the link would close a circle: of jobs that
// wait for one another, or of jobs each of which is the next one's child.
func (l *linking) refuseCycle(x ids.ID, y Job) error {
	switch l.kind {
	case Blocks:
		path, err := waitPathTx(l.ctx, l.tx, l.who.Workspace, []ids.ID{y.ID}, x)
		return l.refuse(slices.Insert(path, 0, x), err, "These jobs would wait for one another.")
	case Gate: // the path begins and ends with the child, whose link it belongs to
		path, err := waitPathTx(l.ctx, l.tx, l.who.Workspace, []ids.ID{y.ID}, x)
		return l.refuse(closed(path), err, "These jobs would wait for one another.")
	case Parent:
		edges, err := parentEdgesTx(l.ctx, l.tx, l.who.Workspace, y.ID)
		path := graph.ShortestPath(edges, []ids.ID{y.ID}, x)
		if err := l.refuse(slices.Insert(path, 0, x), err, "A job would be its own ancestor."); err != nil || !y.WaitsForChildren {
			return err
		}
		path, err = waitPathTx(l.ctx, l.tx, l.who.Workspace, []ids.ID{x}, y.ID)
		return l.refuse(append(path, x), err, "These jobs would wait for one another.")
	}
	return nil
}

// closed returns a path that leads back to its first job, from the last one.
func closed(path []ids.ID) []ids.ID {
	if len(path) == 0 {
		return nil
	}
	return append(path, path[0])
}

// refuse makes the refusal of a closed path; a path of one job is none.
func (l *linking) refuse(path []ids.ID, err error, why string) error {
	if err != nil {
		return fmt.Errorf("look for a cycle: %w", err)
	}
	return cycleFault(l.ctx, l.tx, l.who.Workspace, path, why)
}

// refuseChildrenTx is DependencyCycle where a child of a job waits for it, which
// is about to wait for its children. The links are locked.
func refuseChildrenTx(ctx context.Context, tx db.Tx, workspace, parent ids.ID) error {
	children, err := q.JobChildren(ctx, tx, workspace, parent)
	if err != nil {
		return err
	}
	path, err := waitPathTx(ctx, tx, workspace, children, parent)
	if err != nil {
		return fmt.Errorf("look for a cycle: %w", err)
	}
	return cycleFault(ctx, tx, workspace, slices.Insert(path, 0, parent), "The job and its children would wait for one another.")
}

func cycleFault(ctx context.Context, tx db.Tx, workspace ids.ID, path []ids.ID, why string) error {
	if len(path) < 2 {
		return nil
	}
	nodes, err := nodesTx(ctx, tx, workspace, path)
	if err != nil {
		return err
	}
	keys := make([]string, 0, len(path))
	for _, id := range path {
		if node, known := nodes[id]; known {
			keys = append(keys, node.Key)
		}
	}
	return fault.New(fault.DependencyCycle, "%s", why).With("path", keys)
}

// waitPathTx gives a shortest path of waiting from one of some jobs to another
// one, both ends in it, or nothing. The edges are read only where there is one.
func waitPathTx(ctx context.Context, tx db.Tx, workspace ids.ID, from []ids.ID, to ids.ID) ([]ids.ID, error) {
	waits, err := waitsForTx(ctx, tx, workspace, from, to)
	if err != nil || !waits {
		return nil, err
	}
	edges, err := waitEdgesTx(ctx, tx, workspace, from)
	return graph.ShortestPath(edges, from, to), err
}
