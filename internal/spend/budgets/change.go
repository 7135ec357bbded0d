package budgets

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Create makes a budget and opens its present period. What was spent before does not
// count. Forbidden; Validation; InUse where the workspace has too many.
func (s *Service) Create(ctx context.Context, who tenancy.Principal, in Input) (Budget, error) {
	if err := mayChange(who); err != nil {
		return Budget{}, err
	}
	b, err := in.budget()
	if err != nil {
		return Budget{}, err
	}
	b.ID, b.CreatedBy = ids.New(), who.Name
	made, err := s.once(ctx, who, in.Once, func(tx db.Tx) (Moved, error) {
		b, err := createTx(ctx, tx, who, in, b)
		return Moved{Budget: b}, err
	})
	if err == nil {
		s.changed(ctx, who.Workspace)
	}
	return made.Budget, err
}

func createTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in Input, b Budget) (Budget, error) {
	if err := lockNewTx(ctx, tx, who.Workspace); err != nil {
		return Budget{}, err
	}
	others, _, err := budgetsTx(ctx, tx, who.Workspace, nil)
	if err != nil {
		return Budget{}, err
	}
	if len(others) >= MaxBudgets {
		return Budget{}, fault.New(fault.InUse, "A workspace has at most %d budgets. Remove one first.", MaxBudgets)
	}
	if err := b.findTx(ctx, tx, who.Workspace, in); err != nil {
		return Budget{}, err
	}
	if err := insertTx(ctx, tx, who.Workspace, b); err != nil {
		return Budget{}, err
	}
	made, err := lockTx(ctx, tx, who.Workspace, b.ID)
	if err != nil {
		return Budget{}, err
	}
	b = made[0]
	return b, eventlog.RecordTx(ctx, tx, who, eventlog.BudgetCreated, b.facts(map[string]any{"scope": b.Scope, "period": b.Period}),
		b.changes(Budget{})...)
}

// findTx finds what the scope names. Validation.
func (b *Budget) findTx(ctx context.Context, tx db.Tx, workspace ids.ID, in Input) (err error) {
	var found bool
	p := fault.Problems{}
	if in.Product != "" {
		if b.ProductID, found, err = productTx(ctx, tx, workspace, in.Product); err == nil && !found {
			p.Add("product", "There is no product %.64s in this workspace.", in.Product)
		}
	}
	if in.Job != "" && err == nil {
		if b.JobID, found, err = jobTx(ctx, tx, workspace, in.Job); err == nil && !found {
			p.Add("job", "There is no job %.64s in this workspace.", in.Job)
		}
	}
	if err != nil {
		return err
	}
	return p.Err()
}

// Change edits a budget. Its limits are those of each period that begins; that of the
// present one moves by the difference, with its ledger lines, and not below 0.
// Forbidden; NotFound; Validation; VersionConflict.
func (s *Service) Change(ctx context.Context, who tenancy.Principal, id ids.ID, change Patch) (after Budget, err error) {
	if err := mayChange(who); err != nil {
		return Budget{}, err
	}
	var roomier, unheld bool
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		found, err := lockTx(ctx, tx, who.Workspace, id)
		if err != nil {
			return err
		}
		before := found[0]
		if after, err = change.apply(before); err != nil {
			return err
		}
		list := after.changes(before)
		if len(list) == 0 {
			return nil
		}
		if err := saveTx(ctx, tx, who.Workspace, after); err != nil {
			return err
		}
		lines := after.moveLimits(before)
		if _, err := linesTx(ctx, tx, who, "", lines); err != nil {
			return err
		}
		if err := limitsTx(ctx, tx, who.Workspace, after); err != nil {
			return err
		}
		after.Version++
		roomier, unheld = after.roomier(before), before.HoldsUnpriced() && !after.HoldsUnpriced()
		return eventlog.RecordTx(ctx, tx, who, eventlog.BudgetChanged, after.facts(nil), list...)
	})
	if err != nil {
		return Budget{}, err
	}
	if unheld {
		s.wake.Publish(prices.Topic(who.Workspace))
	}
	if roomier {
		s.changed(ctx, who.Workspace, id)
	} else {
		s.changed(ctx, who.Workspace)
	}
	return after, nil
}

// moveLimits moves the limits of the present period by what the budget's have moved, and
// returns the lines of that.
func (b *Budget) moveLimits(before Budget) []line {
	more := line{budget: b.ID, start: b.State.Start, kind: Raised}
	less := line{budget: b.ID, start: b.State.Start, kind: Expired}
	b.State.Limits = Limits{
		Money:  moved(b.State.Money, before.Money, b.Money, &more.Money, &less.Money),
		Tokens: moved(b.State.Tokens, before.Tokens, b.Tokens, &more.Tokens, &less.Tokens),
		Runs:   moved(b.State.Runs, before.Runs, b.Runs, &more.Runs, &less.Runs),
	}
	lines := []line{}
	for _, l := range []line{more, less} {
		if l.Amounts != (Amounts{}) {
			lines = append(lines, l)
		}
	}
	return lines
}

// moved returns the limit of a period whose budget had one limit and gets another, and by how
// much that is more or less. A limit that is not there is 0 in the ledger.
func moved[T spend.Nanos | int64](now, before, after *T, more, less *T) *T {
	var had T
	if now != nil {
		had = *now
	}
	if after == nil {
		*less = had
		return nil
	}
	want := *after
	if before != nil {
		want = max(had+*after-*before, 0)
	}
	*more, *less = max(want-had, 0), max(had-want, 0)
	return &want
}

// roomier reports whether jobs that waited may go on now.
func (b Budget) roomier(before Budget) bool {
	more := func(now, was *int64) bool { return was != nil && (now == nil || *now > *was) }
	return before.Hard && !b.Hard || b.ThrottledBelow < before.ThrottledBelow || b.Slice < before.Slice ||
		before.Tokens != nil && b.SliceTokens < before.SliceTokens ||
		more(nanos(b.State.Money), nanos(before.State.Money)) ||
		more(b.State.Tokens, before.State.Tokens) || more(b.State.Runs, before.State.Runs)
}

// Remove takes a budget away, and frees what jobs have reserved of it. Its ledger stays.
// Forbidden; NotFound.
func (s *Service) Remove(ctx context.Context, who tenancy.Principal, id ids.ID) error {
	if err := mayChange(who); err != nil {
		return err
	}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := lockBudgetsTx(ctx, tx, who.Workspace, []ids.ID{id}); err != nil {
			return err
		}
		found, _, err := budgetsTx(ctx, tx, who.Workspace, []ids.ID{id})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return noBudget()
		}
		if err := freeAllTx(ctx, tx, who.Workspace, found[0], who.Name); err != nil {
			return err
		}
		if err := q.BudgetRemove(ctx, tx, who.Workspace, id); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.BudgetRemoved, found[0].facts(nil))
	})
	if err == nil {
		s.wake.Publish(prices.Topic(who.Workspace))
		s.changed(ctx, who.Workspace, id)
	}
	return err
}

// facts returns those of an event of the budget, with more of them.
func (b Budget) facts(more map[string]any) map[string]any {
	facts := map[string]any{"budget": b.Name, "budget_id": b.ID}
	for name, fact := range more {
		facts[name] = fact
	}
	return facts
}

// changes lists what differs from the budget of before.
func (b Budget) changes(before Budget) []eventlog.Change {
	var list []eventlog.Change
	note := func(field string, differs bool, old, now any) {
		if differs {
			list = append(list, eventlog.Change{Field: field, Old: old, New: now})
		}
	}
	note("name", b.Name != before.Name, before.Name, b.Name)
	note("limit_usd", !same(b.Money, before.Money), before.Money, b.Money)
	note("limit_tokens", !same(b.Tokens, before.Tokens), before.Tokens, b.Tokens)
	note("limit_runs", !same(b.Runs, before.Runs), before.Runs, b.Runs)
	note("hard", b.Hard != before.Hard, before.Hard, b.Hard)
	note("slice_usd", b.Slice != before.Slice, before.Slice, b.Slice)
	note("slice_tokens", b.SliceTokens != before.SliceTokens, before.SliceTokens, b.SliceTokens)
	note("alert_at", !slices.Equal(b.AlertAt, before.AlertAt), before.AlertAt, b.AlertAt)
	note("unpriced", b.Unpriced != before.Unpriced, before.Unpriced, b.Unpriced)
	note("throttle", b.Throttle != before.Throttle, before.Throttle, b.Throttle)
	return list
}

func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
