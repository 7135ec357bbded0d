package budgets

import (
	"context"
	"errors"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// loop is the name of the sweeps in the log and the ledger.
const loop = "budgets"

// Sweep opens the periods that have begun and takes back the raises that have ended, in
// all workspaces. It returns how many.
func (s *Service) Sweep(ctx context.Context) (int, error) { return s.everywhere(ctx, s.sweep) }

// Foresee keeps how each budget stands in this hour and says whether its money lasts: it
// sets the throttle, and reports once a period that the money runs out. It returns how many
// budgets that was reported for.
func (s *Service) Foresee(ctx context.Context) (int, error) { return s.everywhere(ctx, s.foresee) }

// everywhere does a part in each workspace that has budgets. One that fails keeps no
// other from its turn.
func (s *Service) everywhere(ctx context.Context, do func(context.Context, tenancy.Principal) (int, error)) (total int, err error) {
	var workspaces []ids.ID
	if err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.BudgetWorkspaces(ctx, tx)
		return err
	}); err != nil {
		return 0, err
	}
	for _, workspace := range workspaces {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		n, failed := do(ctx, tenancy.System(workspace, loop))
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

func (s *Service) sweep(ctx context.Context, who tenancy.Principal) (int, error) {
	var opened, expired []ids.ID
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, now, err := budgetsTx(ctx, tx, who.Workspace, nil)
		if err != nil {
			return err
		}
		missing, err := unopenedTx(ctx, tx, who.Workspace, list, now)
		if err != nil {
			return err
		}
		if opened, err = openTx(ctx, tx, who.Workspace, missing, now); err != nil {
			return err
		}
		expired, err = expireTx(ctx, tx, who)
		return err
	})
	if err == nil && len(opened)+len(expired) > 0 {
		s.changed(ctx, who.Workspace, opened...)
	}
	return len(opened) + len(expired), err
}

// unopenedTx returns the budgets whose present period is not there yet.
func unopenedTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Budget, now time.Time) ([]Budget, error) {
	windows := make([]window, len(list))
	for i, b := range list {
		start, end, err := b.bounds(now)
		if err != nil {
			return nil, err
		}
		windows[i] = window{budget: b.ID, start: start, end: end}
	}
	states, err := periodsTx(ctx, tx, workspace, windows, false)
	if err != nil {
		return nil, err
	}
	var missing []Budget
	for _, b := range list {
		if _, there := states[b.ID]; !there {
			missing = append(missing, b)
		}
	}
	return missing, nil
}

func (s *Service) foresee(ctx context.Context, who tenancy.Principal) (int, error) {
	var told int
	var lifted []ids.ID
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, now, err := budgetsTx(ctx, tx, who.Workspace, nil)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := presentTx(ctx, tx, who.Workspace, list, now, false); err != nil {
			return err
		}
		if err := spentSinceTx(ctx, tx, who.Workspace, list); err != nil {
			return err
		}
		if err := q.BudgetSnapshot(ctx, tx, now, who.Workspace, now.Add(-history)); err != nil {
			return err
		}
		budgets := make([]ids.ID, len(list))
		for i, b := range list {
			budgets[i] = b.ID
		}
		hours, err := hoursTx(ctx, tx, who.Workspace, budgets, now.Add(-history))
		if err != nil {
			return err
		}
		var short []Budget
		for i := range list {
			b := &list[i]
			before := b.ThrottledBelow
			b.project(hours[b.ID], now)
			if b.ThrottledBelow < before {
				lifted = append(lifted, b.ID)
			}
			if v := b.Projection.Verdict; v == forecast.RunsOut || v == forecast.Throttle {
				short = append(short, *b)
			}
		}
		if err := foreseeTx(ctx, tx, who.Workspace, list); err != nil {
			return err
		}
		told, err = tellTx(ctx, tx, who, short)
		return err
	})
	if err == nil && told+len(lifted) > 0 {
		s.changed(ctx, who.Workspace, lifted...)
	}
	return told, err
}

// project foresees whether the money of the present period lasts, and from which priority
// on jobs need not wait.
func (b *Budget) project(hours []hour, now time.Time) {
	before := b.ThrottledBelow
	b.Projection, b.ThrottledBelow = forecast.Projection{Verdict: forecast.Enough}, 0
	if _, limited := b.State.Free(); !limited {
		return
	}
	b.Projection = forecast.Project(input(*b, hours, now))
	if b.Throttle {
		b.ThrottledBelow = forecast.ThrottledBelow(b.Projection, before)
	}
}

// tellTx reports budgets that run out before their period ends, once a period, and
// returns how many.
func tellTx(ctx context.Context, tx db.Tx, who tenancy.Principal, short []Budget) (int, error) {
	if len(short) == 0 {
		return 0, nil
	}
	windows := make([]window, len(short))
	for i, b := range short {
		windows[i] = window{budget: b.ID, start: b.State.Start, end: b.State.End}
	}
	fired, err := fireTx(ctx, tx, who.Workspace, windows, RunsOut)
	if err != nil {
		return 0, err
	}
	news := map[ids.ID]bool{}
	for _, id := range fired {
		news[id] = true
	}
	for _, b := range short {
		if !news[b.ID] {
			continue
		}
		free, _ := b.State.Free()
		facts := b.facts(map[string]any{"period_end": b.State.End, "exhausted_at_p50": b.Projection.ExhaustedP50, "free_usd": free.Fixed()})
		if err := eventlog.RecordTx(ctx, tx, who, eventlog.BudgetWillRunOut, facts); err != nil {
			return 0, err
		}
	}
	return len(fired), nil
}
