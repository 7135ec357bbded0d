package report

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// reportedLease is a lease that is reported on, as it was before; the zero value where
// the job has none.
type reportedLease = dbsqlc.LeasesLockRow

// lockLeases locks the leases that are reported on, and returns them by their jobs.
func lockLeases(ctx context.Context, tx db.Tx, workspace ids.ID, list []*reportItem) (map[ids.ID]reportedLease, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var in, agents []ids.ID
	for _, t := range list {
		in, agents = append(in, t.job), append(agents, t.who.Agent)
	}
	rows, err := q.LeasesLock(ctx, tx, agents, workspace, in)
	if err != nil {
		return nil, err
	}
	leases := make(map[ids.ID]reportedLease, len(rows))
	for _, l := range rows {
		leases[l.ID] = l
	}
	return leases, nil
}

// renewedLease is a lease that a report has kept.
type renewedLease struct {
	job       ids.ID
	directive string
	reason    string
	expiresAt time.Time
}

// writeReports writes reports, and returns the leases that they kept: those that have
// not ended at this moment.
func writeReports(ctx context.Context, tx db.Tx, workspace ids.ID, list []*reportItem) ([]renewedLease, error) {
	p := dbsqlc.LeasesReportParams{WorkspaceID: workspace}
	for _, t := range list {
		percent, ttl, step := -1, 0, ""
		if t.Percent != nil {
			percent = *t.Percent
		}
		if t.ttl != nil {
			ttl = *t.ttl
		}
		if t.Step != nil {
			step = *t.Step
		}
		p.JobIds, p.Epochs, p.AgentIds = append(p.JobIds, t.job), append(p.Epochs, t.ref.Epoch), append(p.AgentIds, t.who.Agent)
		p.TtlSeconds, p.ProgressPercents = append(p.TtlSeconds, ttl), append(p.ProgressPercents, percent)
		p.Steps, p.TellsStep = append(p.Steps, step), append(p.TellsStep, t.Step != nil)
		p.Checkpoints, p.IsProgress = append(p.Checkpoints, string(t.Checkpoint)), append(p.IsProgress, t.isProgress)
		p.Touches = append(p.Touches, len(t.Files) > 0)
	}
	rows, err := q.LeasesReport(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	renewed := make([]renewedLease, 0, len(rows))
	for _, l := range rows {
		renewed = append(renewed, renewedLease{job: l.JobID, directive: l.Directive, reason: l.DirectiveReason, expiresAt: l.ExpiresAt})
	}
	return renewed, nil
}

// startAttempts notes when the attempts of jobs that start began.
func startAttempts(ctx context.Context, tx db.Tx, workspace ids.ID, starting []jobs.Change) error {
	var (
		in     []ids.ID
		epochs []int64
	)
	for _, s := range starting {
		in, epochs = append(in, s.Before.ID), append(epochs, s.Before.Epoch)
	}
	return q.AttemptsStart(ctx, tx, workspace, in, epochs)
}

// writeModels notes what runs the attempts whose agents say so.
func writeModels(ctx context.Context, tx db.Tx, workspace ids.ID, list []*reportItem) error {
	p := dbsqlc.AttemptsModelParams{WorkspaceID: workspace}
	for _, t := range list {
		if m := t.Model; m != nil {
			p.JobIds, p.Epochs, p.Engines = append(p.JobIds, t.job), append(p.Epochs, t.ref.Epoch), append(p.Engines, m.Engine)
			p.Models, p.ModelWhys, p.Tiers = append(p.Models, m.Name), append(p.ModelWhys, m.Why), append(p.Tiers, m.Tier)
		}
	}
	if len(p.JobIds) == 0 {
		return nil
	}
	return q.AttemptsModel(ctx, tx, p)
}

// progressEvent is what a report changed, encoded.
type progressEvent struct {
	*reportItem
	changes string
}

func appendProgress(ctx context.Context, tx db.Tx, workspace ids.ID, list []progressEvent) error {
	p := dbsqlc.EventsAppendParams{WorkspaceID: workspace, Type: string(eventlog.JobProgressed), ActorKind: string(tenancy.KindAgent)}
	for _, e := range list {
		p.JobIds, p.Epochs = append(p.JobIds, e.job), append(p.Epochs, e.ref.Epoch)
		p.Actors, p.ActorIds = append(p.Actors, e.who.Name), append(p.ActorIds, e.who.Actor().ID)
		p.Changes = append(p.Changes, e.changes)
	}
	return q.EventsAppend(ctx, tx, p)
}
