package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// LinkParent makes a job another one's child, where it is not yet, both by key or id,
// and says whether the parent waits until the child has ended. A parent that an agent
// works on goes on, and is not gated until it is back. The child is returned. Faults as
// of Link; InvalidTransition for a finished parent that is to wait.
func (s *Service) LinkParent(ctx context.Context, who tenancy.Principal, child, parent string, gate bool) (Job, error) {
	var l *linking
	linked, err := s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		l = &linking{ctx: ctx, tx: tx, who: who, kind: Parent}
		return l.addParent(child, parent, gate)
	})
	if err == nil {
		s.gateChanged(ctx, who.Workspace, l.gate)
	}
	return linked, err
}

// gateChanged wakes whoever waits for what became of a parent, and lets in the next
// job of a repo that it left.
func (s *Service) gateChanged(ctx context.Context, workspace ids.ID, gate *linking) {
	if gate == nil || gate.after.Key == "" {
		return
	}
	s.wake.Publish(Topics(workspace, gate.after)...)
	s.leftRepo(ctx, workspace, gate.before, gate.after)
}

// addParent sets the gate and then adds the link. The parent is locked before the
// child, for which a gate does not wait: whoever ends the child holds it and waits for
// the parent.
func (l *linking) addParent(child, parent string, gate bool) (Job, error) {
	if err := lockLinksTx(l.ctx, l.tx, l.who.Workspace); err != nil {
		return Job{}, err
	}
	if gate {
		l.gate = l.with(Gate)
		if _, err := l.gate.add(parent, child); err != nil {
			return Job{}, err
		}
		return l.add(child, parent)
	}
	x, err := find(l.ctx, l.tx, l.who.Workspace, child)
	if err != nil {
		return Job{}, err
	}
	y, err := LoadTx(l.ctx, l.tx, l.who.Workspace, parent)
	if err != nil {
		return Job{}, err
	}
	if err := l.removeGate(x, y); err != nil {
		return Job{}, err
	}
	return l.add(child, parent)
}

// removeGate takes away the gate of a parent whose link to a child is to go, or is to
// be without one. It has to come before the lock of any job.
func (l *linking) removeGate(child ids.ID, parent Job) error {
	if l.kind != Parent && l.kind != "" {
		return nil
	}
	if err := lockLinksTx(l.ctx, l.tx, l.who.Workspace); err != nil {
		return err
	}
	gated, err := isGatedTx(l.ctx, l.tx, l.who.Workspace, parent.ID, child)
	if err != nil || !gated {
		return err
	}
	l.gate = l.with(Gate)
	_, err = l.gate.remove(parent.ID.String(), child.String())
	return err
}

// maxChildren is how many open children a refusal names.
const maxChildren = 20

// OpenChildrenTx gives the keys of the children that keep a locked job from being
// completed, at most 20: none where it does not wait for its children. A child is
// open until it is completed, failed, aborted or archived.
func OpenChildrenTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job) ([]string, error) {
	if !j.WaitsForChildren {
		return nil, nil
	}
	return openChildrenTx(ctx, tx, workspace, j, maxChildren)
}

// RequireChildrenDoneTx is ChildrenOpen, with the keys as the detail "children",
// where a locked job may not be completed yet.
func RequireChildrenDoneTx(ctx context.Context, tx db.Tx, workspace ids.ID, j Job) error {
	open, err := OpenChildrenTx(ctx, tx, workspace, j)
	if err != nil || len(open) == 0 {
		return err
	}
	return fault.New(fault.ChildrenOpen, "%s waits for its children; %s is still open.", j.Key, open[0]).With("children", open)
}
