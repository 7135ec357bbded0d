package jobs

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// replace makes a locked job wait for these jobs, by key or id, and for no others.
// It returns what changed, and whether the job waits then. Faults as of Link, each by
// its place in "depends_on".
func (l *linking) replace(locked Locked, names []string) (changes []eventlog.Change, open bool, err error) {
	p := fault.Problems{}
	wanted := map[ids.ID]Job{}
	for i, name := range names {
		y, err := LoadTx(l.ctx, l.tx, l.who.Workspace, name)
		switch {
		case fault.Is(err, fault.NotFound):
			p.Add(fmt.Sprintf("depends_on[%d]", i), "There is no job %s.", cut(name, MaxName))
		case err != nil:
			return nil, false, err
		case y.ID == locked.ID:
			p.Add(fmt.Sprintf("depends_on[%d]", i), "It must be another job.")
		default:
			wanted[y.ID] = y
		}
	}
	if err := p.Err(); err != nil {
		return nil, false, err
	}
	present, err := findNamedTx(l.ctx, l.tx, l.who.Workspace, locked.DependsOn)
	if err != nil {
		return nil, false, err
	}
	for _, x := range present {
		if _, stays := wanted[x.id]; stays {
			delete(wanted, x.id)
			continue
		}
		if _, err := deleteLinkTx(l.ctx, l.tx, l.who.Workspace, link{job: locked.ID, dependsOn: x.id, kind: Blocks}); err != nil {
			return nil, false, err
		}
		changes = append(changes, eventlog.Change{Field: "link", Old: x.key})
	}
	for _, id := range slices.SortedFunc(maps.Keys(wanted), func(a, b ids.ID) int { return slices.Compare(a[:], b[:]) }) {
		y := wanted[id]
		if err := l.insertGate(locked, y); err != nil {
			return nil, false, err
		}
		changes = append(changes, eventlog.Change{Field: "link", New: y.Key})
	}
	if open, err = DependencyOpenTx(l.ctx, l.tx, l.who.Workspace, locked.ID); err != nil {
		return nil, false, fmt.Errorf("dependencies of %s: %w", locked.Key, err)
	}
	return changes, open, nil
}

// insertGate links a locked job with one that it is to wait for.
func (l *linking) insertGate(locked Locked, y Job) error {
	if locked.Status.Finished() && !l.retried {
		return fault.New(fault.InvalidTransition, "%s is %s; it waits for nothing any more.", locked.Key, locked.Status).
			With("status", string(locked.Status))
	}
	if err := l.refuseCycle(locked.ID, y); err != nil {
		return err
	}
	if _, err := l.insert(locked.ID, y.ID); err != nil {
		return err
	}
	_, err := l.gates(y)
	return err
}

// regated returns an edit of a job whose dependencies are others now.
func (d Decision) regated(changes []eventlog.Change, open bool, l Locked) Decision {
	d.Beside = append(d.Beside, changes...)
	switch {
	case open && (d.After.Status == Waiting || Can(d.After.Status, ByHold)):
		d.By = ByHold
		d.After.Status, d.After.WaitReason = Waiting, WaitDependency
	case !open && d.After.WaitReason == WaitDependency:
		d.By = ByPromote
		return d.claimable(l.Now, false)
	}
	return d
}
