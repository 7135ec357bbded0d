package jobs

import (
	"context"
	"maps"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Change is a decision about a locked job, and who makes it.
type Change struct {
	Who tenancy.Principal
	Decision
}

// SaveTx writes a decision: the job's state, its row in job_ready, its repo's
// slot and one event. A change of status that the table of status.go does not name
// is refused. A job that would become ready waits instead where something
// holds it (see admission); a promotion that would end in the waiting it came from
// is not written, and gives the job as it was. It is refused with InvalidTransition
// where the job's status or epoch is no longer what was decided on. The saved job
// is returned.
func SaveTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d Decision) (Job, error) {
	saved, err := SaveManyTx(ctx, tx, who.Workspace, []Change{{who, d}})
	if err != nil {
		return Job{}, err
	}
	return saved[0], nil
}

// SaveManyTx is SaveTx for decisions about different jobs of one workspace, which
// are returned in the same order. Where one is refused nothing may be committed. No
// two of them may compete for the slot of a repo.
func SaveManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Change) ([]Job, error) {
	a := admission{ctx: ctx, tx: tx, workspace: workspace}
	result := make([]Job, len(list))
	write := make([]Change, 0, len(list))
	var at []int
	for i, s := range list {
		s.After.NotBefore = keepable(s.After.NotBefore)
		d, err := a.admit(s.Decision)
		if err != nil {
			return nil, err
		}
		if d.changesNothing() {
			result[i] = d.Before
			continue
		}
		if d.Before.Status != d.After.Status && !Allowed(d.Before.Status, d.By, d.After.Status) {
			return nil, d.Before.Refuse(d.By)
		}
		write, at = append(write, Change{s.Who, d}), append(at, i)
	}
	saved, err := writeTx(ctx, tx, workspace, write)
	if err != nil {
		return nil, err
	}
	for i, j := range saved {
		result[at[i]] = j
	}
	return result, a.takeSlots()
}

// actors are who decided, and who carries it out where that is somebody else. Of
// two loops only the one that decided is named.
func (s Change) actors() (decided tenancy.Actor, carriedOut *tenancy.Actor) {
	who, by := s.Who.Actor(), s.DecidedBy
	if by == (tenancy.Actor{}) || by.Is(who) {
		return who, nil
	}
	if by.Kind == tenancy.KindSystem && who.Kind == tenancy.KindSystem {
		return by, nil
	}
	return by, &who
}

// payload returns what the event says beside the changes.
func (s Change) payload(carriedOut *tenancy.Actor) map[string]any {
	if carriedOut == nil {
		return s.Payload
	}
	said := maps.Clone(s.Payload)
	said["carried_out_by"] = *carriedOut
	return said
}

// row returns the decision as it is written.
func (s Change) row() (jobRow, error) {
	by, carriedOut := s.actors()
	stored, err := eventlog.Encode(s.changes(), s.payload(carriedOut))
	a := s.After
	saved := a.saved()
	saved.Body, saved.Acceptance, saved.AcceptanceMet, saved.DependsOn = "", nil, nil, nil // have tables of their own
	return jobRow{
		ID: a.ID, FromStatus: s.Before.Status, FromEpoch: s.Before.Epoch, ProductID: a.ProductID, LaneID: a.LaneID, Attempts: a.Attempts,
		Saved: saved, BudgetNanos: a.BudgetNanos, Actor: by.Name, ActorKind: by.Kind, ActorID: by.ID, CarriedOutBy: carriedOut,
		EventType: s.Type, Changes: stored.Changes, Payload: stored.Payload, Contents: stored.Contents,
		Unranked: s.endsRank(),
	}, err
}

// writeTx writes decisions as they are, and returns the jobs in the same order.
func writeTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Change) ([]Job, error) {
	if len(list) == 0 {
		return nil, nil
	}
	rows := make([]jobRow, 0, len(list))
	for _, s := range list {
		row, err := s.row()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	written, err := saveRowsTx(ctx, tx, workspace, rows)
	if err != nil {
		return nil, err
	}
	saved := make([]Job, 0, len(list))
	for _, s := range list {
		w, ok := written[s.After.ID]
		if !ok {
			return nil, fault.New(fault.InvalidTransition, "%s was changed at the same moment. Look again.", s.Before.Key)
		}
		saved = append(saved, s.written(w))
	}
	return saved, nil
}

// written returns the job as a read gives it now: version and times are what the
// statement has set.
func (s Change) written(w written) Job {
	j := s.After
	if by, carriedOut := s.actors(); s.Before.Status != j.Status {
		j.StatusBy, j.CarriedOutBy = by, orDefault(carriedOut, tenancy.Actor{})
	}
	j.Version, j.StatusAt, j.UpdatedAt = w.Version, w.StatusAt, w.UpdatedAt
	j.ReadyAt, j.StartedAt, j.CompletedAt, j.FailedAt = w.ReadyAt, w.StartedAt, w.CompletedAt, w.FailedAt
	return j
}
