package jobs

import (
	"context"
	"fmt"
	"maps"
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

// with returns another linking of the same transaction, of links of that kind.
func (l *linking) with(kind LinkType) *linking {
	return &linking{ctx: l.ctx, tx: l.tx, who: l.who, kind: kind}
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
		Payload:      map[string]any{"type": kind, "job": other},
		OtherChanges: []eventlog.Change{{Field: "link", New: other}}}
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
		Payload:      map[string]any{"type": kinds, "job": other},
		OtherChanges: []eventlog.Change{{Field: "link", Old: other}}}
	if l.WaitReason == WaitDependency && !open {
		d.By = ByPromote
		d.readyOrWaiting(l.Now, false)
	}
	return d
}

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
	d.OtherChanges = append(d.OtherChanges, changes...)
	switch {
	case open && (d.After.Status == Waiting || Can(d.After.Status, ByHold)):
		d.By = ByHold
		d.After.Status, d.After.WaitReason = Waiting, WaitDependency
	case !open && d.After.WaitReason == WaitDependency:
		d.By = ByPromote
		d.readyOrWaiting(l.Now, false)
	}
	return d
}
