package screens

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/estimates"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// StartQuery is what decides when a job starts.
type StartQuery struct {
	Needs     fleet.Needs
	Product   string
	Phase     string
	Priority  int
	Ask       estimates.Ask
	DependsOn []string // keys or ids
	Job       ids.ID   // the job itself, where it was made already
}

// Start is what stands before a job, beside the fleet.
type Start struct {
	Depends []jobs.Job // those it names, in the order of their keys or ids
	Reasons []Reason   // what keeps it back: budget, paused product, review backlog, busy repo
	Ahead   int        // ready jobs as urgent, in lanes that its factories serve
	More    bool       // there are more than Ahead
	Money   Money
	// CanBeStarted is the pool that could start a factory for it, nil where none fits.
	CanBeStarted *pools.Start
}

// maxAhead is where counting the jobs ahead ends.
const maxAhead = 100

// Start reads what stands before a job, what it is expected to cost, and how its budgets
// stand.
func (s *Service) Start(ctx context.Context, who tenancy.Principal, snap fleet.Snapshot, query StartQuery) (Start, error) {
	var start Start
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		start, err = startTx(ctx, tx, who, snap, query)
		return err
	})
	return start, err
}

// isBare reports whether only the fleet stands before the job.
func (q StartQuery) isBare() bool {
	return q.Needs.Repo == "" && q.Product == "" && len(q.DependsOn) == 0
}

func startTx(ctx context.Context, tx db.Tx, who tenancy.Principal, snap fleet.Snapshot, query StartQuery) (start Start, err error) {
	product := cmp.Or(query.Product, jobs.DefaultProduct)
	start.Money, err = moneyTx(ctx, tx, who.Workspace, query.Ask,
		budgeting.Scope{Product: product, Phase: query.Phase, Job: query.Job, Priority: query.Priority})
	if err != nil {
		return start, err
	}
	if start.CanBeStarted, err = pools.StartableTx(ctx, tx, who.Workspace, product, query.Needs, snap); err != nil {
		return start, err
	}
	stops, err := fleet.StopsTx(ctx, tx, who.Workspace)
	if err != nil {
		return start, err
	}
	if s := stops.CoveringName(product); s != nil {
		start.Reasons = append(start.Reasons, stopReason(*s))
	}
	budgets, err := startBudgetsTx(ctx, tx, who.Workspace, start.Money.Budgets, query.Needs, product)
	if start.Reasons = append(start.Reasons, budgets...); err != nil || query.isBare() {
		return start, err
	}
	err = readStartTx(ctx, tx, who.Workspace, servedLike(snap, query.Needs), query, &start)
	if err != nil || len(query.DependsOn) == 0 {
		return start, err
	}
	start.Depends, err = namedTx(ctx, tx, who, query.DependsOn)
	return start, err
}

// startBudgetsTx says which of the budgets that a job counts for keep it back.
func startBudgetsTx(
	ctx context.Context, tx db.Tx, workspace ids.ID, of []budgeting.Standing, needs fleet.Needs, product string,
) ([]Reason, error) {
	var list []Reason
	for _, b := range of {
		if b.Short != nil {
			list = append(list, budgetReason(*b.Short))
		}
	}
	if len(list) > 0 || len(of) == 0 {
		return list, nil
	}
	active, err := budgeting.ActiveTx(ctx, tx, workspace)
	if err != nil || !active.HoldsUnpriced {
		return nil, err
	}
	var m money
	if m.unpriced, err = budgeting.UnpricedTx(ctx, tx, workspace); err != nil {
		return nil, err
	}
	snap, err := fleet.SnapshotTx(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	for _, h := range m.unpriced.Holders {
		if !slices.ContainsFunc(of, func(b budgeting.Standing) bool { return b.ID == h.ID }) {
			continue
		}
		if why, held := m.modelReason(h, m.unpriced.FindProduct(product), needs, snap.Route(needs)); held {
			return []Reason{why}, nil
		}
	}
	return nil, nil
}

// servedLike returns the offers of the factories that could run a job with these needs.
func servedLike(snap fleet.Snapshot, needs fleet.Needs) []fleet.Offer {
	var could fleet.Snapshot
	for _, fit := range snap.Route(needs).Eligible {
		could.Factories = append(could.Factories, fit.Factory)
	}
	return listOffers(could)
}
