package jobs

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// claimRaces is how often a change of a ready job starts again because a claim
// is taking the job at that very moment. One claim ends in milliseconds; there is
// a pause before each further try, at most claimPause at first and twice as long
// each time.
const (
	claimRaces = 9
	claimPause = time.Millisecond
)

// ChangeTx is a transaction that decides on a job: it locks, decides, saves.
type ChangeTx func(tx db.Tx) (Job, error)

// Change runs a change of one job, again where a claim got in its way, and
// wakes whoever waits for what it changed.
func (s *Service) Change(ctx context.Context, who tenancy.Principal, change ChangeTx) (Job, error) {
	var job Job
	var err error
	for try := range claimRaces {
		err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
			job, err = change(tx)
			return err
		})
		if !db.IsLocked(err) || signal.Sleep(ctx, rand.N(claimPause<<try)) != nil {
			break
		}
	}
	if err == nil {
		s.wake.Publish(Topics(who.Workspace, job)...)
	}
	return job, err
}

// Patch edits a job. VersionConflict, with the current job as the detail "job",
// where it was changed since the editor's version; InvalidTransition where what
// the job needs is to change while an agent works on it; DependencyCycle, with the
// detail "path", where it is to wait for a child that waits for it; Validation, also
// for a repo of another product.
func (s *Service) Patch(ctx context.Context, who tenancy.Principal, keyOrID string, p Patch) (Job, error) {
	var before Job
	edited, err := s.Change(ctx, who, func(tx db.Tx) (edited Job, err error) {
		before, edited, err = EditTx(ctx, tx, who, keyOrID, p, "")
		return edited, err
	})
	if err == nil {
		s.leftRepo(ctx, who.Workspace, before, edited)
	}
	return edited, err
}

// EditTx is Patch inside a transaction that next ends, "" where it ends with the edit:
// a finished job that is retried next may wait for further jobs.
func EditTx(ctx context.Context, tx db.Tx, who tenancy.Principal, keyOrID string, p Patch, next Trigger) (before, edited Job, err error) {
	if err := p.check(); err != nil {
		return Job{}, Job{}, err
	}
	if p.closes() || p.sets("depends_on") {
		if err := lockLinksTx(ctx, tx, who.Workspace); err != nil {
			return Job{}, Job{}, err
		}
	}
	locked, err := LockTx(ctx, tx, who.Workspace, keyOrID)
	if err != nil {
		return Job{}, Job{}, err
	}
	if err := locked.CheckVersion(&p.Version); err != nil {
		return Job{}, Job{}, err
	}
	if p.closes() && !locked.WaitsForChildren {
		if err := refuseChildrenTx(ctx, tx, who.Workspace, locked.ID); err != nil {
			return Job{}, Job{}, err
		}
	}
	if err := WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
		return Job{}, Job{}, err
	}
	d, err := locked.edit(p)
	if err != nil {
		return Job{}, Job{}, err
	}
	l := &linking{ctx: ctx, tx: tx, who: who, kind: Blocks, retried: next == ByRetry && Can(locked.Status, next)}
	if p.sets("depends_on") {
		changes, open, err := l.replace(locked, p.DependsOn)
		if err != nil {
			return Job{}, Job{}, err
		}
		d = d.regated(changes, open, locked)
	}
	edited, err = l.saveEdit(d, p.sets("depends_on") || p.sets("review_required") && p.ReviewOverride == nil)
	return locked.Job, edited, err
}

// closes reports whether the edit has the job wait for its children.
func (p Patch) closes() bool { return p.sets("waits_for_children") && p.WaitsForChildren }

// saveEdit writes an edit. The job is read again where the decision does not know all of
// it: its links, or its product's policy.
func (l *linking) saveEdit(d Decision, again bool) (Job, error) {
	if err := requireRepoTx(l.ctx, l.tx, l.who.Workspace, d); err != nil {
		return Job{}, err
	}
	var err error
	if d.After.LaneID, err = ensureLaneTx(l.ctx, l.tx, l.who.Workspace, d.After.Needs()); err != nil {
		return Job{}, err
	}
	if err := d.saveTextTx(l.ctx, l.tx, l.who.Workspace); err != nil {
		return Job{}, err
	}
	if err := d.saveTermsTx(l.ctx, l.tx, l.who.Workspace); err != nil {
		return Job{}, err
	}
	if !again {
		return SaveTx(l.ctx, l.tx, l.who, d)
	}
	return l.save(d)
}

// CheckVersion refuses a change made on another version than the job's; nil
// checks nothing.
func (j Job) CheckVersion(version *int) error {
	if version == nil || *version == j.Version {
		return nil
	}
	return fault.New(fault.VersionConflict, "%s was changed since you opened it. Look at it again.", j.Key).With("job", j)
}

// edit returns the decision that a patch requests.
func (l Locked) edit(p Patch) (Decision, error) {
	after := l.Job
	for _, f := range Fields {
		if p.sets(f.Name) {
			f.value(&after.Spec).Set(f.value(&p.Spec))
		}
	}
	after.Title, after.DependsOn, after.Acceptance = strings.TrimSpace(after.Title), l.DependsOn, db.OrEmpty(after.Acceptance)
	after.Tags, after.Files, after.Capabilities = set(after.Tags), set(after.Files), set(after.Capabilities)
	if !p.sets("acceptance_met") {
		after.AcceptanceMet = carryCheckmarks(l.Job, after.Acceptance)
	}
	after.AcceptanceMet = checkmarks(after.AcceptanceMet, len(after.Acceptance))
	if after.ReviewOverride != nil {
		after.ReviewRequired = *after.ReviewOverride
	}
	if l.Status.Leased() && string(after.Needs().digest()) != string(l.Needs().digest()) {
		return Decision{}, fault.New(fault.InvalidTransition,
			"%s is %s; what it needs can change once nobody works on it.", l.Key, l.Status).With("status", string(l.Status))
	}
	d := Decision{Before: l.Job, After: after, Type: eventlog.JobEdited, Payload: map[string]any{}}
	if err := d.requireOwn(); err != nil {
		return Decision{}, err
	}
	return d.reschedule(p.sets("not_before"), l.Now), nil
}

// requireRepoTx refuses a job's new repo where another product than the job's owns
// it: a job stays with its product.
func requireRepoTx(ctx context.Context, tx db.Tx, workspace ids.ID, d Decision) error {
	if d.Before.Repo == d.After.Repo || d.After.Repo == "" {
		return nil
	}
	owners, err := ownersOfRepoTx(ctx, tx, workspace, d.After.Repo)
	if err != nil {
		return err
	}
	for _, o := range owners {
		if o.ID != d.After.ProductID {
			return fault.Invalid("repo", "The repo %s belongs to the product %s; the job to %s.", d.After.Repo, o.Name, d.After.Product)
		}
	}
	return nil
}

// carryCheckmarks returns the checkmarks of an edited job: those of the criteria whose words
// stayed.
func carryCheckmarks(before Job, criteria []string) []bool {
	met := checkmarks(before.AcceptanceMet, len(before.Acceptance))
	list := make([]bool, len(criteria))
	for i, text := range criteria {
		at := slices.Index(before.Acceptance, text)
		list[i] = at >= 0 && met[at]
	}
	return list
}

// saveTextTx writes what people wrote at length, where the decision changes it.
func (d Decision) saveTextTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	if d.Before.Body == d.After.Body && slices.Equal(d.Before.Acceptance, d.After.Acceptance) &&
		slices.Equal(d.Before.AcceptanceMet, d.After.AcceptanceMet) {
		return nil
	}
	return writeTextTx(ctx, tx, workspace, d.After)
}

// saveTermsTx writes the retries and the review of a job, where the decision changes them.
func (d Decision) saveTermsTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	if d.Before.MaxRetries == d.After.MaxRetries && isSame(d.Before.ReviewOverride, d.After.ReviewOverride) {
		return nil
	}
	return q.JobTermsUpdate(ctx, tx, d.After.MaxRetries, d.After.ReviewOverride, workspace, d.After.ID)
}
