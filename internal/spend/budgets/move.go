package budgets

import (
	"context"
	"time"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/spend"
	"fleetboard/internal/tenancy"
)

// Transfer is money that goes from the present period of one budget to that of another.
type Transfer struct {
	To     ids.ID
	Amount spend.Nanos
	Reason string
}

// Raise is money that the present period of a budget gets.
type Raise struct {
	Amount spend.Nanos
	Until  *time.Time // when it is taken back, as far as it is free then; nil is with its period
	Reason string
}

// checkAmount checks what is moved and why.
func checkAmount(p fault.Problems, amount spend.Nanos, reason string) {
	if amount <= 0 || amount > MaxMoney {
		p.Add("amount_usd", "It must be more than 0 and at most %s dollars.", MaxMoney.USD())
	}
	p.Line("reason", reason, MaxReason)
}

// Transfer moves money between two budgets, and returns the line by which it can be taken
// back. It never takes what is settled or reserved: OverBudget then, with what is free.
// Forbidden; NotFound; Validation.
func (s *Service) Transfer(ctx context.Context, who tenancy.Principal, from ids.ID, t Transfer) (int64, error) {
	if err := mayChange(who); err != nil {
		return 0, err
	}
	p := fault.Problems{}
	checkAmount(p, t.Amount, t.Reason)
	if t.To == from {
		p.Add("to", "It must be another budget.")
	}
	if err := p.Err(); err != nil {
		return 0, err
	}
	return s.transfer(ctx, who, from, t, func(db.Tx) (int64, error) { return 0, nil })
}

// transfer carries out what check lets pass once both budgets are locked; check returns
// the line that is taken back, 0 for none.
func (s *Service) transfer(ctx context.Context, who tenancy.Principal, from ids.ID, t Transfer, check func(db.Tx) (int64, error)) (
	id int64, err error) {
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		both, err := lockTx(ctx, tx, who.Workspace, from, t.To)
		if err != nil {
			return err
		}
		reverses, err := check(tx)
		if err != nil {
			return err
		}
		giver, taker := both[0], both[1]
		free, limited := giver.State.Free()
		switch {
		case !limited:
			return fault.Invalid("amount_usd", "%s has no limit in dollars to take from.", giver.Name)
		case taker.State.Limits.Money == nil:
			return fault.Invalid("to", "%s has no limit in dollars that could be raised.", taker.Name)
		case free < t.Amount:
			return overBudget(giver.Name, free)
		case *taker.State.Limits.Money > MaxMoney-t.Amount:
			return fault.Invalid("amount_usd", "%s would have more than %s dollars.", taker.Name, MaxMoney.USD())
		}
		*giver.State.Limits.Money -= t.Amount
		*taker.State.Limits.Money += t.Amount
		lines, err := linesTx(ctx, tx, who, t.Reason, []line{
			{budget: from, start: giver.State.Start, kind: TransferredOut, Amounts: Amounts{Money: t.Amount}, other: t.To,
				reverses: reverses},
			{budget: t.To, start: taker.State.Start, kind: TransferredIn, Amounts: Amounts{Money: t.Amount}, other: from},
		})
		if err != nil {
			return err
		}
		id = lines[0]
		if err := limitsTx(ctx, tx, who.Workspace, giver, taker); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.BudgetTransferred, giver.facts(map[string]any{"to": taker.Name, "to_id": taker.ID,
			"amount_usd": t.Amount.Fixed(), "reason": t.Reason}))
	})
	if err != nil {
		return 0, err
	}
	s.changed(ctx, who.Workspace, t.To)
	return id, nil
}

func overBudget(name string, free spend.Nanos) error {
	free = max(free, 0)
	return fault.New(fault.OverBudget, "%s has %s dollars free: what is settled or reserved stays.", name, free.USD()).
		With("free_usd", free.Fixed())
}

// Raise gives a budget more money for its present period, and returns the line by which
// it can be taken back. Forbidden; NotFound; Validation.
func (s *Service) Raise(ctx context.Context, who tenancy.Principal, id ids.ID, r Raise) (raised int64, err error) {
	if err := mayChange(who); err != nil {
		return 0, err
	}
	p := fault.Problems{}
	checkAmount(p, r.Amount, r.Reason)
	if err := p.Err(); err != nil {
		return 0, err
	}
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		found, err := lockTx(ctx, tx, who.Workspace, id)
		if err != nil {
			return err
		}
		b := found[0]
		switch {
		case r.Until != nil && !r.Until.After(b.Projection.From):
			return fault.Invalid("until", "It must be in the future.")
		case b.State.Limits.Money == nil:
			return fault.Invalid("amount_usd", "%s has no limit in dollars that could be raised.", b.Name)
		case *b.State.Limits.Money > MaxMoney-r.Amount:
			return fault.Invalid("amount_usd", "%s would have more than %s dollars.", b.Name, MaxMoney.USD())
		}
		*b.State.Limits.Money += r.Amount
		l := line{budget: id, start: b.State.Start, kind: Raised, Amounts: Amounts{Money: r.Amount}}
		if r.Until != nil {
			l.until = *r.Until
		}
		lines, err := linesTx(ctx, tx, who, r.Reason, []line{l})
		if err != nil {
			return err
		}
		raised = lines[0]
		if err := limitsTx(ctx, tx, who.Workspace, b); err != nil {
			return err
		}
		if err := keepRaiseTx(ctx, tx, who.Workspace, raised, l, r.Until); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.BudgetRaised,
			b.facts(map[string]any{"amount_usd": r.Amount.Fixed(), "until": r.Until, "reason": r.Reason}))
	})
	if err != nil {
		return 0, err
	}
	s.changed(ctx, who.Workspace, id)
	return raised, nil
}

// Undo takes back a raise or a transfer of the present period, by its line in the ledger
// of the budget that was raised or that gave. Of a raise goes what is free, and the rest
// as it becomes free; a transfer goes back whole or not at all: OverBudget then.
// Forbidden; NotFound; InvalidTransition where it was taken back or its period is over.
func (s *Service) Undo(ctx context.Context, who tenancy.Principal, budget ids.ID, id int64) error {
	if err := mayChange(who); err != nil {
		return err
	}
	var l past
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		found, err := lockTx(ctx, tx, who.Workspace, budget)
		if err != nil {
			return err
		}
		if l, err = lineTx(ctx, tx, who.Workspace, budget, id); err != nil {
			return err
		}
		if !l.start.Equal(found[0].State.Start) {
			return fault.New(fault.InvalidTransition, "Its period is over.")
		}
		switch l.kind {
		case TransferredOut:
			return l.open()
		case Raised:
			if ended, err := endRaiseTx(ctx, tx, who.Workspace, id); err != nil {
				return err
			} else if !ended {
				return fault.New(fault.InvalidTransition, "The raise was taken back before.")
			}
			_, err = expireTx(ctx, tx, who, &budget)
			return err
		default:
			return fault.New(fault.InvalidTransition, "Only raises and transfers can be taken back.")
		}
	})
	if err != nil || l.kind != TransferredOut {
		s.changed(ctx, who.Workspace)
		return err
	}
	_, err = s.transfer(ctx, who, l.other, Transfer{To: budget, Amount: l.amount, Reason: "taken back"}, func(tx db.Tx) (int64, error) {
		now, err := lineTx(ctx, tx, who.Workspace, budget, id)
		if err != nil {
			return 0, err
		}
		return id, now.open()
	})
	return err
}

// past is a line of the ledger that may be taken back.
type past struct {
	start    time.Time
	kind     Kind
	amount   spend.Nanos
	other    ids.ID
	reversed bool
}

func (l past) open() error {
	if l.reversed {
		return fault.New(fault.InvalidTransition, "The transfer was taken back before.")
	}
	return nil
}

// expireTx takes raises back that have ended, as far as they are free, and returns the
// budgets of them. Of one budget, or of all the workspace's.
func expireTx(ctx context.Context, tx db.Tx, who tenancy.Principal, budget *ids.ID) ([]ids.ID, error) {
	due, err := dueTx(ctx, tx, who.Workspace, budget)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	windows := make([]window, len(due))
	for i, r := range due {
		windows[i] = r.window
	}
	states, err := periodsTx(ctx, tx, who.Workspace, windows, true)
	if err != nil {
		return nil, err
	}
	var gone []ids.ID
	for _, r := range due {
		state := states[r.budget]
		left, err := raiseLeftTx(ctx, tx, who.Workspace, r.line)
		if err != nil {
			return nil, err
		}
		free, limited := state.Free()
		take := min(left, free)
		if !limited {
			take = 0
		}
		if take <= 0 {
			continue
		}
		*state.Limits.Money -= take
		states[r.budget] = state
		l := line{budget: r.budget, start: r.start, kind: Expired, Amounts: Amounts{Money: take}}
		if _, err := linesTx(ctx, tx, who, "", []line{l}); err != nil {
			return nil, err
		}
		if err := limitsTx(ctx, tx, who.Workspace, Budget{ID: r.budget, State: state}); err != nil {
			return nil, err
		}
		if err := takeRaiseTx(ctx, tx, who.Workspace, r.line, take); err != nil {
			return nil, err
		}
		gone = append(gone, r.budget)
	}
	return gone, nil
}
