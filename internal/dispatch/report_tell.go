package dispatch

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// telling is what an agent says of one lease among others that are written
// together. It has no checkpoint: reports with one are written alone.
type telling struct {
	who tenancy.Principal
	ref Ref
	report

	job     ids.ID
	key     string
	begins  bool   // the job is assigned, and this starts it
	percent int16  // of the lease as it was, below 0 where there was none
	step    string // as it was

	standing Standing
	refused  bool // the lease is not the agent's any more
	err      error
	apart    bool
}

// tellings writes what agents say of leases that the transaction has locked.
type tellings struct {
	ctx       context.Context //nolint:containedctx // lives as long as the run
	tx        db.Tx
	s         *Service
	workspace ids.ID

	begun   map[ids.ID]jobs.Job // the jobs that start, locked
	started []jobs.Job
	told    bool // something changed that others see
}

// named finds jobs by the keys or ids that agents call them by.
func (w *tellings) named(refs []string) (map[string]ids.ID, error) {
	params := dbsqlc.JobIDsParams{WorkspaceID: w.workspace, Keys: refs, Ids: []ids.ID{}}
	for _, ref := range refs {
		if id, ok := ids.Parse(ref); ok {
			params.Ids = append(params.Ids, id)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	rows, err := q.JobIDs(w.ctx, w.tx, params)
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

// prepare makes ready what is needed beside the leases, and sets those apart for
// which that cannot be had: the lock of a job that starts, the values that are to
// be taken out of a step.
func (w *tellings) prepare(list []*telling) error {
	if err := w.lock(list); err != nil {
		return err
	}
	var jobsTold []ids.ID
	for _, t := range list {
		if t.Step != nil && !t.refused && !t.apart {
			jobsTold = append(jobsTold, t.job)
		}
	}
	if len(jobsTold) == 0 {
		return nil
	}
	secret, err := q.JobsWithSecrets(w.ctx, w.tx, dbsqlc.JobsWithSecretsParams{WorkspaceID: w.workspace, Ids: jobsTold})
	if err != nil {
		return fmt.Errorf("jobs with secrets: %w", err)
	}
	for _, id := range secret {
		red, err := w.s.jobs.RedactorTx(w.ctx, w.tx, w.workspace, id)
		for _, t := range list {
			switch {
			case t.job != id || t.Step == nil:
			case err != nil:
				t.apart = true
			default:
				step := red.Cut(*t.Step, maxStep)
				t.Step = &step
			}
		}
	}
	return nil
}

// lock locks and reads the jobs that start.
func (w *tellings) lock(list []*telling) error {
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
			t.apart = true
		}
	}
	return nil
}

// tell writes the reports that are neither refused nor set apart, and their
// standing. A lease that ended at this moment is refused.
func (w *tellings) tell(list []*telling) error {
	var params dbsqlc.LeasesReportParams
	byJob := map[ids.ID]*telling{}
	for _, t := range list {
		if !t.refused && !t.apart {
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
	written := make([]*telling, 0, len(rows))
	for _, row := range rows {
		t := byJob[row.JobID]
		delete(byJob, row.JobID)
		t.standing = Standing{Job: t.key, Epoch: t.ref.Epoch, Directive: directiveOr(row.Directive, Continue),
			Reason: row.DirectiveReason, ExpiresAt: later(row.ExpiresAt)}
		written = append(written, t)
	}
	for _, t := range byJob {
		t.refused = true
	}
	if err := w.start(written); err != nil {
		return err
	}
	return w.note(written)
}

func (t *telling) appendTo(p *dbsqlc.LeasesReportParams) {
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
	p.IsProgress = append(p.IsProgress, t.isProgress)
}

// start makes the jobs of first reports running.
func (w *tellings) start(list []*telling) error {
	var savings []jobs.Saving
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
		savings = append(savings, jobs.Saving{Who: t.who, Decision: d})
		params.JobIds, params.Epochs = append(params.JobIds, job.ID), append(params.Epochs, job.Epoch)
	}
	if len(savings) == 0 {
		return nil
	}
	if err := q.AttemptsStart(w.ctx, w.tx, params); err != nil {
		return fmt.Errorf("start attempts: %w", err)
	}
	started, err := jobs.SaveManyTx(w.ctx, w.tx, w.workspace, savings)
	w.started, w.told = append(w.started, started...), true
	return err
}

// note records what the reports changed.
func (w *tellings) note(list []*telling) error {
	params := dbsqlc.EventsAppendParams{WorkspaceID: w.workspace, Type: string(eventlog.JobProgressed), ActorKind: string(tenancy.KindAgent)}
	for _, t := range list {
		var before *int16
		if t.percent >= 0 {
			before = &t.percent
		}
		changes := t.changes(before, &t.step)
		if len(changes) == 0 {
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
	w.told = true
	if err := q.EventsAppend(w.ctx, w.tx, params); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	return nil
}

// refuse says why the refused reports were not written. One that names a lease of
// the agent all the same, just given or just ended, is set apart.
func (w *tellings) refuse(list []*telling) error {
	var refused []ids.ID
	for _, t := range list {
		if t.refused && !t.apart {
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
		if !t.refused || t.apart {
			continue
		}
		job := byID[t.job]
		if l := job.Lease; l != nil && l.AgentID == t.who.Agent && l.Epoch == t.ref.Epoch {
			t.apart = true
			continue
		}
		t.err = conflict(w.ctx, w.tx, t.who, job, t.ref.Epoch)
	}
	return nil
}
