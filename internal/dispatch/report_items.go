package dispatch

import (
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/redact"
	"fleetboard/internal/tenancy"
)

// reportItem is what an agent says of one of its leases.
type reportItem struct {
	who tenancy.Principal
	ref Ref
	report

	job     ids.ID
	key     string
	begins  bool   // the job is assigned, and this starts it
	percent int16  // of the lease as it was, below 0 where there was none
	step    string // as it was

	standing LeaseStatus
	refused  bool // the lease is not the agent's any more
	err      error
	retry    bool
}

// leaseReports writes what agents say of leases that the transaction has locked.
type leaseReports struct {
	ctx       context.Context //nolint:containedctx // lives as long as the batch
	tx        db.Tx
	s         *Service
	workspace ids.ID
	alone     bool

	begun   map[ids.ID]jobs.Job // the jobs that start, locked
	started []jobs.Job
	changed bool // something that others see
}

// notify tells the others what changed, after the commit.
func (w *leaseReports) notify() {
	if w.changed {
		w.s.publish(w.workspace, nil, w.started...)
		w.s.keepBudgets(w.ctx, w.workspace, budgeted(w.started))
	}
}

// jobsByName finds jobs by the keys or ids that agents call them by.
func jobsByName(ctx context.Context, tx db.Tx, workspace ids.ID, refs []string) (map[string]ids.ID, error) {
	params := dbsqlc.JobIDsParams{WorkspaceID: workspace, Keys: refs, Ids: []ids.ID{}}
	for _, ref := range refs {
		if id, ok := ids.Parse(ref); ok {
			params.Ids = append(params.Ids, id)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	rows, err := q.JobIDs(ctx, tx, params)
	if err != nil {
		return nil, fmt.Errorf("find jobs: %w", err)
	}
	byKey, byID := map[string]ids.ID{}, map[ids.ID]bool{}
	for _, row := range rows {
		byKey[row.Key], byID[row.ID] = row.ID, true
	}
	named := map[string]ids.ID{}
	for _, ref := range refs {
		if id, ok := byKey[ref]; ok {
			named[ref] = id
		} else if id, ok := ids.Parse(ref); ok && byID[id] {
			named[ref] = id
		}
	}
	return named, nil
}

// lockLeases waits for the locks of those of the starting jobs that an agent holds and
// has not started, and then for its leases on the named jobs, or for all of them: the
// order in which everybody locks.
func lockLeases(ctx context.Context, tx db.Tx, who tenancy.Principal, starting, named map[string]ids.ID, every bool) error {
	if len(starting) > 0 {
		err := q.JobsWait(ctx, tx, dbsqlc.JobsWaitParams{WorkspaceID: who.Workspace, AgentID: who.Agent, JobIds: distinct(starting)})
		if err != nil {
			return fmt.Errorf("lock jobs: %w", err)
		}
	}
	err := q.LeasesWait(ctx, tx, dbsqlc.LeasesWaitParams{WorkspaceID: who.Workspace, AgentID: who.Agent, Every: every,
		JobIds: distinct(named)})
	if err != nil {
		return fmt.Errorf("lock leases: %w", err)
	}
	return nil
}

func distinct(named map[string]ids.ID) []ids.ID {
	list := make([]ids.ID, 0, len(named))
	for _, id := range named {
		list = append(list, id)
	}
	slices.SortFunc(list, func(a, b ids.ID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(list)
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
	secret, err := q.JobsWithSecrets(w.ctx, w.tx, dbsqlc.JobsWithSecretsParams{WorkspaceID: w.workspace, Ids: worded})
	if err != nil {
		return fmt.Errorf("jobs with secrets: %w", err)
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
	rows, err := q.JobsLock(w.ctx, w.tx, dbsqlc.JobsLockParams{WorkspaceID: w.workspace, Ids: starting})
	if err != nil {
		return fmt.Errorf("lock jobs: %w", err)
	}
	locked := make([]ids.ID, 0, len(rows))
	for _, row := range rows {
		locked = append(locked, row.ID)
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

// write writes the reports that are neither refused nor marked for a retry, and their
// standing. A lease that ended at this moment is refused.
func (w *leaseReports) write(list []*reportItem) error {
	var params dbsqlc.LeasesReportParams
	byJob := map[ids.ID]*reportItem{}
	for _, t := range list {
		if !t.refused && !t.retry {
			byJob[t.job] = t
			t.appendTo(&params)
		}
	}
	if len(byJob) == 0 {
		return nil
	}
	params.WorkspaceID = w.workspace
	rows, err := q.LeasesReport(w.ctx, w.tx, params)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	written := make([]*reportItem, 0, len(rows))
	for _, row := range rows {
		t := byJob[row.JobID]
		delete(byJob, row.JobID)
		t.standing = LeaseStatus{Job: t.key, Epoch: t.ref.Epoch, Directive: directiveOr(row.Directive, Continue),
			Reason: row.DirectiveReason, ExpiresAt: timePtr(row.ExpiresAt)}
		written = append(written, t)
	}
	for _, t := range byJob {
		t.refused = true
	}
	if err := w.start(written); err != nil {
		return err
	}
	return w.recordProgress(written)
}

func (t *reportItem) appendTo(p *dbsqlc.LeasesReportParams) {
	percent, ttl, step := int32(-1), int32(0), ""
	if t.Percent != nil {
		percent = int32(*t.Percent) //nolint:gosec // 0..100
	}
	if t.ttl != nil {
		ttl = int32(*t.ttl) //nolint:gosec // 10..86400
	}
	if t.Step != nil {
		step = *t.Step
	}
	p.JobIds, p.Epochs, p.AgentIds = append(p.JobIds, t.job), append(p.Epochs, t.ref.Epoch), append(p.AgentIds, t.who.Agent)
	p.TtlSeconds, p.ProgressPercents = append(p.TtlSeconds, ttl), append(p.ProgressPercents, percent)
	p.Steps, p.TellsStep = append(p.Steps, step), append(p.TellsStep, t.Step != nil)
	p.Checkpoints, p.IsProgress = append(p.Checkpoints, string(t.Checkpoint)), append(p.IsProgress, t.isProgress)
}

// start makes the jobs of first reports running.
func (w *leaseReports) start(list []*reportItem) error {
	var savings []jobs.Change
	params := dbsqlc.AttemptsStartParams{WorkspaceID: w.workspace}
	for _, t := range list {
		job, ok := w.begun[t.job]
		if !ok || job.Status != jobs.Assigned {
			continue
		}
		d, err := job.Start()
		if err != nil {
			return err
		}
		savings = append(savings, jobs.Change{Who: t.who, Decision: d})
		params.JobIds, params.Epochs = append(params.JobIds, job.ID), append(params.Epochs, job.Epoch)
	}
	if len(savings) == 0 {
		return nil
	}
	if err := q.AttemptsStart(w.ctx, w.tx, params); err != nil {
		return fmt.Errorf("start attempts: %w", err)
	}
	started, err := jobs.SaveManyTx(w.ctx, w.tx, w.workspace, savings)
	w.started, w.changed = append(w.started, started...), true
	return err
}

// recordProgress records what the reports changed.
func (w *leaseReports) recordProgress(list []*reportItem) error {
	params := dbsqlc.EventsAppendParams{WorkspaceID: w.workspace, Type: string(eventlog.JobProgressed),
		ActorKind: string(tenancy.KindAgent)}
	for _, t := range list {
		var before *int16
		if t.percent >= 0 {
			before = &t.percent
		}
		changes := t.changes(before, &t.step)
		if len(changes) == 0 {
			continue
		}
		if len(t.Checkpoint) > 0 { // its content may be long
			w.changed = true
			err := appendEvent(w.ctx, w.tx, t.who, eventlog.Event{Type: eventlog.JobProgressed, JobID: &t.job, Epoch: &t.ref.Epoch,
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
		params.JobIds, params.Actors = append(params.JobIds, t.job), append(params.Actors, t.who.Name)
		params.ActorIds = append(params.ActorIds, t.who.Actor().ID)
		params.Epochs, params.Changes = append(params.Epochs, t.ref.Epoch), append(params.Changes, string(text))
	}
	if len(params.JobIds) == 0 {
		return nil
	}
	w.changed = true
	if err := q.EventsAppend(w.ctx, w.tx, params); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	return nil
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
		t.err = conflict(w.ctx, w.tx, t.who, job, t.ref.Epoch)
	}
	return nil
}
