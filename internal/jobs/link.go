package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// LinkType is what a link between two jobs means. Blocks and Gate make a job wait; the
// others inform.
type LinkType string

// The types that a request may name, of job X with the link's other job Y.
const (
	Blocks         LinkType = "blocks"          // X waits until Y is completed
	Parent         LinkType = "parent"          // Y is X's parent
	DiscoveredFrom LinkType = "discovered_from" // X was found while working on Y
	Duplicates     LinkType = "duplicates"      // X is the same as Y
	Supersedes     LinkType = "supersedes"      // X takes Y's place
)

// Gate is the type of what belongs to a Parent link and is made by LinkParent: X waits
// until Y, its child, has ended, completed or not.
const Gate LinkType = "gate"

var linkTypes = []LinkType{Blocks, Parent, DiscoveredFrom, Duplicates, Supersedes}

// Link links a job with another one, both by key or id. A link that is there
// already changes nothing. With Blocks a ready job waits from then on; one that
// an agent works on goes on, and is not gated until it is back.
//
// Faults: NotFound; Validation for an unknown type and for a link to itself;
// DependencyCycle with the detail "path", keys from the job back to it, where jobs
// would wait for one another or a job were its own ancestor; InvalidTransition for
// a finished job that is to wait.
func (s *Service) Link(ctx context.Context, who tenancy.Principal, job, dependsOn string, kind LinkType) (Job, error) {
	if !slices.Contains(linkTypes, kind) {
		return Job{}, unknownLink(kind)
	}
	var l *linking
	linked, err := s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		l = &linking{ctx: ctx, tx: tx, who: who, kind: kind}
		return l.add(job, dependsOn)
	})
	if err == nil {
		s.leftRepo(ctx, who.Workspace, l.before, linked)
	}
	return linked, err
}

// Unlink takes links from a job to another one away: those of the type, or of
// every type where it is "", a parent's with its gate. A job that waited for nothing
// else becomes claimable. NotFound where there is no such link; Validation for an
// unknown type.
func (s *Service) Unlink(ctx context.Context, who tenancy.Principal, job, dependsOn string, kind LinkType) (Job, error) {
	if kind != "" && !slices.Contains(linkTypes, kind) {
		return Job{}, unknownLink(kind)
	}
	var l *linking
	unlinked, err := s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		l = &linking{ctx: ctx, tx: tx, who: who, kind: kind}
		return l.remove(job, dependsOn)
	})
	if err == nil {
		s.gateChanged(ctx, who.Workspace, l.gate)
	}
	return unlinked, err
}

func unknownLink(kind LinkType) error {
	return fault.Invalid("type", "It must be blocks, parent, discovered_from, duplicates or supersedes (it is %s).",
		cut(string(kind), MaxName))
}

// linking is one change of a link inside its transaction.
type linking struct {
	ctx  context.Context // lives as long as the call
	tx   db.Tx
	who  tenancy.Principal
	kind LinkType

	retried bool // the job is retried in the same transaction

	before Job      // the job of the link, once it is locked
	after  Job      // it as it was saved
	gate   *linking // of its parent, where that changed too
}

func (l *linking) add(job, dependsOn string) (Job, error) {
	if err := lockLinksTx(l.ctx, l.tx, l.who.Workspace); err != nil {
		return Job{}, err
	}
	x, err := find(l.ctx, l.tx, l.who.Workspace, job)
	if err != nil {
		return Job{}, err
	}
	y, err := LoadTx(l.ctx, l.tx, l.who.Workspace, dependsOn)
	if err != nil {
		return Job{}, err
	}
	if x == y.ID {
		return Job{}, fault.Invalid("depends_on", "It must be another job.")
	}
	if err := l.refuseCycle(x, y); err != nil {
		return Job{}, err
	}
	locked, err := l.lock(x)
	if err != nil {
		return Job{}, err
	}
	if (l.kind == Blocks || l.kind == Gate) && locked.Status.Finished() {
		return Job{}, fault.New(fault.InvalidTransition, "%s is %s; it waits for nothing any more.", locked.Key, locked.Status).
			With("status", string(locked.Status))
	}
	open, err := l.gates(y)
	if err != nil {
		return Job{}, err
	}
	made, err := l.insert(x, y.ID)
	if err != nil {
		return Job{}, err
	}
	if !made {
		return locked.Job, nil
	}
	return l.save(locked.linked(l.kind, y.Key, open))
}

// insert writes the link, and reports false where it is there already.
func (l *linking) insert(job, other ids.ID) (bool, error) {
	return insertLinkTx(l.ctx, l.tx, l.who, link{job: job, dependsOn: other, kind: l.kind})
}

// lock takes the job that a link is of, out of reach of the claims.
func (l *linking) lock(id ids.ID) (Locked, error) {
	locked, err := LockTx(l.ctx, l.tx, l.who.Workspace, id.String())
	if err != nil {
		return Locked{}, err
	}
	l.before = locked.Job
	return locked, WithdrawTx(l.ctx, l.tx, l.who.Workspace, locked)
}

// gates reports whether the link keeps its job waiting now. The other job cannot
// be completed until the link is committed: its completion would overlook it. That
// lock is requested without waiting, since a completion locks the other way round.
func (l *linking) gates(y Job) (bool, error) {
	switch l.kind {
	case Blocks, Parent:
		done, err := lockDependencyTx(l.ctx, l.tx, l.who.Workspace, y)
		return l.kind == Blocks && !done, err
	case Gate:
		done, err := lockChildTx(l.ctx, l.tx, l.who.Workspace, y)
		return !done, err
	default:
		return false, nil
	}
}

func (l *linking) remove(job, dependsOn string) (Job, error) {
	x, err := find(l.ctx, l.tx, l.who.Workspace, job)
	if err != nil {
		return Job{}, err
	}
	y, err := LoadTx(l.ctx, l.tx, l.who.Workspace, dependsOn)
	if err != nil {
		return Job{}, err
	}
	if err := l.removeGate(x, y); err != nil {
		return Job{}, err
	}
	locked, err := l.lock(x)
	if err != nil {
		return Job{}, err
	}
	if l.kind == Gate {
		if _, err := l.gates(y); err != nil {
			return Job{}, err
		}
	}
	gone, err := deleteLinkTx(l.ctx, l.tx, l.who.Workspace, link{job: x, dependsOn: y.ID, kind: l.kind})
	if err != nil {
		return Job{}, err
	}
	if len(gone) == 0 {
		return Job{}, fault.New(fault.NotFound, "There is no such link from %s to %s.", locked.Key, y.Key)
	}
	open, err := DependencyOpenTx(l.ctx, l.tx, l.who.Workspace, x)
	if err != nil {
		return Job{}, fmt.Errorf("dependencies of %s: %w", locked.Key, err)
	}
	return l.save(locked.unlinked(strings.Join(gone, ", "), y.Key, open))
}

func (l *linking) save(d Decision) (saved Job, err error) {
	if _, err := SaveTx(l.ctx, l.tx, l.who, d); err != nil {
		return Job{}, err
	}
	l.after, err = LoadTx(l.ctx, l.tx, l.who.Workspace, d.After.ID.String())
	return l.after, err
}

// linked returns the decision about a job with a new link: with one that gates it, a
// job that is not worked on waits for the dependency before all else.
func (l Locked) linked(kind LinkType, other string, gates bool) Decision {
	d := Decision{Before: l.Job, After: l.Job, Type: eventlog.JobLinked,
		Payload: map[string]any{"type": kind, "job": other},
		Beside:  []eventlog.Change{{Field: "link", New: other}}}
	if gates && (l.Status == Waiting || Can(l.Status, ByHold)) {
		d.By = ByHold
		d.After.Status, d.After.WaitReason = Waiting, WaitDependency
	}
	return d
}

// unlinked returns the decision about a job that lost a link: where it waited for
// nothing else it is claimable again.
func (l Locked) unlinked(kinds, other string, open bool) Decision {
	d := Decision{Before: l.Job, After: l.Job, Type: eventlog.JobUnlinked,
		Payload: map[string]any{"type": kinds, "job": other},
		Beside:  []eventlog.Change{{Field: "link", Old: other}}}
	if l.WaitReason == WaitDependency && !open {
		d.By = ByPromote
		return d.claimable(l.Now, false)
	}
	return d
}
