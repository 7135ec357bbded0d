package jobs

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// window is the part of an order that is read: at most rows places after one; for
// SortPriority those of one status, and either the rest within the place's priority or
// those below it.
type window struct {
	after  place
	status Status
	within bool
	rows   int
}

// readPlacesTx reads a part of the filter's order. For SortCost it is SortCreated.
func (f Filter) readPlacesTx(ctx context.Context, tx db.Tx, workspace ids.ID, w window) ([]place, error) {
	rows, err := q.JobPlaces(ctx, tx, f.params(workspace, w))
	if err != nil {
		return nil, err
	}
	places := make([]place, 0, len(rows))
	for _, r := range rows {
		p := place{id: r.ID, priority: r.Priority, at: r.StatusAt, cost: r.CostNanos}
		if f.Sort == SortUpdated {
			p.at = r.UpdatedAt
		}
		places = append(places, p)
	}
	return places, nil
}

func (f Filter) params(workspace ids.ID, w window) dbsqlc.JobPlacesParams {
	p := dbsqlc.JobPlacesParams{
		WorkspaceID: workspace, Sort: string(f.Sort), AfterID: w.after.id, AfterAt: w.after.at, AfterPriority: w.after.priority,
		Status: string(w.status), Within: w.within, Statuses: []string{}, Keys: db.OrEmpty(f.Keys),
		Product: f.Product, Repo: f.Repo, Phase: f.Phase, Tag: f.Tag, Factory: f.Factory, Agent: f.Agent,
		PriorityGte: orDefault(f.PriorityGTE, 0), FailureKind: f.FailureKind, WaitReason: f.WaitReason,
		Verdict: f.Verdict, RoundGte: f.RoundGTE,
		UpdatedSince: f.UpdatedSince, Q: db.EscapeLike(f.Query), MaxRows: w.rows,
	}
	for _, s := range f.Statuses {
		p.Statuses = append(p.Statuses, string(s))
	}
	return p
}

// loadPlacesTx reads the jobs of places, in their order.
func loadPlacesTx(ctx context.Context, tx db.Tx, workspace ids.ID, places []place) ([]Job, error) {
	if len(places) == 0 {
		return nil, nil
	}
	list, at := make([]ids.ID, len(places)), make(map[ids.ID]int, len(places))
	for i, p := range places {
		list[i], at[p.id] = p.id, i
	}
	found, err := LoadManyTx(ctx, tx, workspace, list)
	slices.SortFunc(found, func(a, b Job) int { return at[a.ID] - at[b.ID] })
	return found, err
}

func statsTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Stats, error) {
	stats := Stats{ByStatus: map[Status]int{}}
	rows, err := q.JobCountPerStatus(ctx, tx, workspace)
	if err != nil {
		return stats, err
	}
	stats.count(rows)
	since, err := q.JobReadySince(ctx, tx, workspace)
	if err != nil {
		return stats, err
	}
	for _, r := range since {
		age := r.Now.Sub(r.ReadyAt)
		stats.OldestReadyAge = &age
	}
	expired, err := q.LeaseExpiredCount(ctx, tx, workspace)
	if err != nil {
		return stats, err
	}
	stats.ExpiredLeases = expired
	return stats, nil
}

func (s *Stats) count(rows []dbsqlc.JobCountPerStatusRow) {
	for _, r := range rows {
		s.ByStatus[Status(r.Status)] += int(r.Jobs)
		if n := len(s.Products); n == 0 || s.Products[n-1].Product != r.Product {
			s.Products = append(s.Products, ProductStats{Product: r.Product, ByStatus: map[Status]int{}})
		}
		s.Products[len(s.Products)-1].ByStatus[Status(r.Status)] = int(r.Jobs)
	}
}
