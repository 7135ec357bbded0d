package report

import (
	"cmp"
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// reportItem is what an agent says of one of its leases.
type reportItem struct {
	reportCall

	job     ids.ID
	key     string
	begins  bool   // the job is assigned, and this starts it
	percent int    // of the lease as it was, below 0 where there was none
	step    string // as it was

	status  lease.Status
	refused bool // the lease is not the agent's any more
	err     error
	retry   bool
}

// leaseReports writes what agents say of leases that the transaction has locked.
type leaseReports struct {
	ctx       context.Context // lives as long as the batch
	tx        db.Tx
	s         *Service
	workspace ids.ID
	alone     bool

	begun   map[ids.ID]jobs.Job // the jobs that start, locked
	started []jobs.Job
	changed bool // something that others see
}

// budgeted returns those of the jobs that have ceilings of their own.
func budgeted(list []jobs.Job) []ids.ID {
	var some []ids.ID
	for _, j := range list {
		if j.TokenBudget != nil || j.BudgetNanos != nil {
			some = append(some, j.ID)
		}
	}
	return some
}

// notify notifies the others of what changed, after the commit.
func (w *leaseReports) notify() {
	if w.changed {
		w.s.effects.Publish(w.workspace, nil, w.started...)
		w.s.effects.KeepBudgets(w.ctx, w.workspace, budgeted(w.started))
	}
}

// prepare makes ready what is needed beside the leases: the lock of a job that starts,
// and reports without the values of its secrets. Items that cannot have it are marked
// for a retry.
func (w *leaseReports) prepare(list []*reportItem) error {
	if err := w.lockStarting(list); err != nil {
		return err
	}
	var worded []ids.ID
	for _, t := range list {
		if t.hasWords() && !t.refused && !t.retry {
			worded = append(worded, t.job)
		}
	}
	if len(worded) == 0 {
		return nil
	}
	secret, err := q.JobsWithSecrets(w.ctx, w.tx, w.workspace, worded)
	if err != nil {
		return err
	}
	for _, id := range secret {
		red, err := w.s.jobs.Secrets.RedactorTx(w.ctx, w.tx, w.workspace, id)
		if err != nil && w.alone {
			return err
		}
		for _, t := range list {
			if t.job != id || !t.hasWords() {
				continue
			}
			if t.retry = err != nil; !t.retry {
				t.redact(red)
			}
		}
	}
	return nil
}

// redact takes the values of the job's secrets out of a report.
func (r *report) redact(red *redact.Redactor) {
	if r.Step != nil {
		step := red.Cut(*r.Step, maxStep)
		r.Step = &step
	}
	r.Checkpoint = red.JSON(r.Checkpoint)
	if r.Model != nil {
		model := *r.Model
		model.Engine, model.Name = red.Cut(model.Engine, tiermodel.MaxEngine), red.Cut(model.Name, attempts.MaxModel)
		r.Model = &model
	}
}

// lockStarting locks and reads the jobs that start.
func (w *leaseReports) lockStarting(list []*reportItem) error {
	var starting []ids.ID
	for _, t := range list {
		if t.begins {
			starting = append(starting, t.job)
		}
	}
	w.begun = map[ids.ID]jobs.Job{}
	if len(starting) == 0 {
		return nil
	}
	locked, err := lockJobs(w.ctx, w.tx, w.workspace, starting)
	if err != nil {
		return err
	}
	found, err := jobs.LoadManyTx(w.ctx, w.tx, w.workspace, locked)
	if err != nil {
		return err
	}
	for _, j := range found {
		w.begun[j.ID] = j
	}
	for _, t := range list {
		if _, ok := w.begun[t.job]; t.begins && !ok {
			t.retry = true
		}
	}
	return nil
}

// write writes the reports that are neither refused nor marked for a retry, and how
// they stand then. A lease that ended at this moment is refused.
func (w *leaseReports) write(list []*reportItem) error {
	var writing []*reportItem
	byJob := map[ids.ID]*reportItem{}
	for _, t := range list {
		if !t.refused && !t.retry {
			byJob[t.job], writing = t, append(writing, t)
		}
	}
	if len(writing) == 0 {
		return nil
	}
	renewed, err := writeReports(w.ctx, w.tx, w.workspace, writing)
	if err != nil {
		return err
	}
	written := make([]*reportItem, 0, len(renewed))
	for _, l := range renewed {
		t := byJob[l.job]
		delete(byJob, l.job)
		t.status = lease.Status{Job: t.key, Epoch: t.ref.Epoch, Directive: cmp.Or(l.directive, lease.Continue),
			Reason: l.reason, ExpiresAt: &l.expiresAt}
		written = append(written, t)
	}
	for _, t := range byJob {
		t.refused = true
	}
	if err := w.nameBlobs(written); err != nil {
		return err
	}
	if err := w.start(written); err != nil {
		return err
	}
	if err := writeModels(w.ctx, w.tx, w.workspace, written); err != nil {
		return err
	}
	return w.recordProgress(written)
}

// nameBlobs has jobs name the checkpoints that are blobs. Reports with a checkpoint are alone
// in their transaction.
func (w *leaseReports) nameBlobs(list []*reportItem) error {
	for _, t := range list {
		if err := w.s.nameBlobTx(w.ctx, w.tx, t.who, t.job, checkpointBlob, findCheckpointBlob(t.Checkpoint)); err != nil {
			return err
		}
	}
	return nil
}

// start makes the jobs of first reports running.
func (w *leaseReports) start(list []*reportItem) error {
	var starting []jobs.Change
	for _, t := range list {
		job, ok := w.begun[t.job]
		if !ok || job.Status != jobs.Assigned {
			continue
		}
		d, err := job.Start()
		if err != nil {
			return err
		}
		starting = append(starting, jobs.Change{Who: t.who, Decision: d})
	}
	if len(starting) == 0 {
		return nil
	}
	if err := startAttempts(w.ctx, w.tx, w.workspace, starting); err != nil {
		return err
	}
	started, err := jobs.SaveManyTx(w.ctx, w.tx, w.workspace, starting)
	w.started, w.changed = append(w.started, started...), true
	return err
}

// recordProgress records what the reports changed.
func (w *leaseReports) recordProgress(list []*reportItem) error {
	var events []progressEvent
	for _, t := range list {
		var before *int
		if t.percent >= 0 {
			before = &t.percent
		}
		changes := t.changes(before, &t.step)
		if len(changes) == 0 {
			continue
		}
		if len(t.Checkpoint) > 0 { // its content may be long
			w.changed = true
			err := lease.AppendEvent(w.ctx, w.tx, t.who, eventlog.Event{Type: eventlog.JobProgressed, JobID: &t.job, Epoch: &t.ref.Epoch,
				Changes: changes})
			if err != nil {
				return err
			}
			continue
		}
		text, err := eventlog.EncodeShort(changes)
		if err != nil {
			return err
		}
		events = append(events, progressEvent{t, string(text)})
	}
	if len(events) == 0 {
		return nil
	}
	w.changed = true
	return appendProgress(w.ctx, w.tx, w.workspace, events)
}

// explainRefusals says why the refused reports were not written. In a batch one that
// names a lease of the agent all the same, just given or just ended, is retried.
func (w *leaseReports) explainRefusals(list []*reportItem) error {
	var refused []ids.ID
	for _, t := range list {
		if t.refused && !t.retry {
			refused = append(refused, t.job)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	found, err := jobs.LoadManyTx(w.ctx, w.tx, w.workspace, refused)
	if err != nil {
		return err
	}
	byID := map[ids.ID]jobs.Job{}
	for _, j := range found {
		byID[j.ID] = j
	}
	for _, t := range list {
		if !t.refused || t.retry {
			continue
		}
		job := byID[t.job]
		if l := job.Lease; !w.alone && l != nil && l.AgentID == t.who.Agent && l.Epoch == t.ref.Epoch {
			t.retry = true
			continue
		}
		t.err = lease.Conflict(w.ctx, w.tx, t.who, job, t.ref.Epoch)
	}
	return nil
}
