package budgets

import (
	"cmp"
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Transfer is money that goes from the present period of one budget to that of another.
type Transfer struct {
	To     ids.ID
	Amount spend.Nanos
	Reason string
	Once   *idempotency.Key // nil where the request is not sent again
}

// Raise is money that the present period of a budget gets.
type Raise struct {
	Amount spend.Nanos
	Until  *time.Time // when it is taken back, as far as it is free then; nil is with its period
	Reason string
	Once   *idempotency.Key // nil where the request is not sent again
}

// Moved is what a raise or a transfer did: the line of the ledger by which it can be taken
// back, and the budget that was raised or that gave, afterwards.
type Moved struct {
	Line   int64
	Budget Budget
}

// firstAnswer is a change that may be requested again, as it is stored: a budget as the API
// shows it, and of its state what the API shows in another form.
type firstAnswer struct {
	Moved
	State             State
	End               time.Time
	Settled, Reserved Amounts
	ID                ids.ID // of a budget that an older server created
}

func newFirstAnswer(m Moved) firstAnswer {
	s := m.Budget.State
	return firstAnswer{Moved: m, State: s, End: s.End, Settled: s.Settled, Reserved: s.Reserved}
}

func (f firstAnswer) moved() Moved {
	f.State.End, f.State.Settled, f.State.Reserved = f.End, f.Settled, f.Reserved
	f.Budget.State = f.State
	return f.Moved
}

// once changes a budget once. The repetition gets the first answer; one of an older server, whose
// amounts were numbers, with the budget as it is by now.
func (s *Service) once(ctx context.Context, who tenancy.Principal, k *idempotency.Key,
	effect func(db.Tx) (Moved, error)) (m Moved, err error) {
	first, err := idempotency.Once(ctx, s.db, who, k, func(tx db.Tx) (firstAnswer, error) {
		m, err = effect(tx)
		return newFirstAnswer(m), err
	})
	if err != nil || !k.Replayed() {
		return m, err
	}
	if m = first.moved(); first.End.IsZero() {
		m.Budget, err = s.Get(ctx, who, cmp.Or(first.ID, first.Budget.ID))
	}
	return m, err
}

// checkAmount checks what is moved and why.
func checkAmount(p fault.Problems, amount spend.Nanos, reason string) {
	if amount <= 0 || amount > MaxMoney {
		p.Add("amount_usd", "It must be more than 0 and at most %s.", MaxMoney)
	}
	p.Line("reason", reason, MaxReason)
}

// Transfer moves money between two budgets, and returns the line by which it can be taken
// back. It never takes what is settled or reserved: OverBudget then, with what is free.
// Forbidden; NotFound; Validation.
func (s *Service) Transfer(ctx context.Context, who tenancy.Principal, from ids.ID, t Transfer) (Moved, error) {
	if err := mayChange(who); err != nil {
		return Moved{}, err
	}
	p := fault.Problems{}
	checkAmount(p, t.Amount, t.Reason)
	if t.To == from {
		p.Add("to", "It must be another budget.")
	}
	if err := p.Err(); err != nil {
		return Moved{}, err
	}
	moved, err := s.once(ctx, who, t.Once, func(tx db.Tx) (Moved, error) {
		return transferTx(ctx, tx, who, from, t, 0)
	})
	if err == nil {
		s.changed(ctx, who.Workspace, t.To)
	}
	return moved, err
}

// transferTx moves the money; reverses is the line of the transfer that is taken back, 0
// for none.
func transferTx(ctx context.Context, tx db.Tx, who tenancy.Principal, from ids.ID, t Transfer, reverses int64) (Moved, error) {
	both, err := lockTx(ctx, tx, who.Workspace, from, t.To)
	if err != nil {
		return Moved{}, err
	}
	giver, taker := both[0], both[1]
	if reverses != 0 {
		of, err := lineTx(ctx, tx, who.Workspace, t.To, reverses)
		if err := cmp.Or(err, of.open()); err != nil {
			return Moved{}, err
		}
	}
	free, limited := giver.State.Free()
	switch {
	case !limited:
		return Moved{}, fault.Invalid("amount_usd", "%s has no limit in dollars to take from.", giver.Name)
	case taker.State.Money == nil:
		return Moved{}, fault.Invalid("to", "%s has no limit in dollars that could be raised.", taker.Name)
	case free < t.Amount:
		return Moved{}, overBudget(giver.Name, free)
	case *taker.State.Money > MaxMoney-t.Amount:
		return Moved{}, fault.Invalid("amount_usd", "%s would have more than %s.", taker.Name, MaxMoney)
	}
	*giver.State.Money -= t.Amount
	*taker.State.Money += t.Amount
	lines, err := linesTx(ctx, tx, who, t.Reason, []line{
		{budget: from, start: giver.State.Start, kind: TransferredOut, Amounts: Amounts{Money: t.Amount}, other: t.To,
			reverses: reverses},
		{budget: t.To, start: taker.State.Start, kind: TransferredIn, Amounts: Amounts{Money: t.Amount}, other: from},
	})
	if err != nil {
		return Moved{}, err
	}
	if err := limitsTx(ctx, tx, who.Workspace, giver, taker); err != nil {
		return Moved{}, err
	}
	if err := eventlog.RecordTx(ctx, tx, who, eventlog.BudgetTransferred, giver.facts(map[string]any{"to": taker.Name, "to_id": taker.ID,
		"amount_usd": t.Amount.Fixed(), "reason": t.Reason})); err != nil {
		return Moved{}, err
	}
	after, err := getTx(ctx, tx, who.Workspace, from)
	return Moved{Line: lines[0], Budget: after}, err
}

func overBudget(name string, free spend.Nanos) error {
	free = max(free, 0)
	return fault.New(fault.OverBudget, "%s has %s free: what is settled or reserved stays.", name, free.Floor()).
		With("free_usd", free.Fixed())
}

// Raise gives a budget more money for its present period. Forbidden; NotFound;
// Validation.
func (s *Service) Raise(ctx context.Context, who tenancy.Principal, id ids.ID, r Raise) (Moved, error) {
	if err := mayChange(who); err != nil {
		return Moved{}, err
	}
	p := fault.Problems{}
	checkAmount(p, r.Amount, r.Reason)
	if err := p.Err(); err != nil {
		return Moved{}, err
	}
	moved, err := s.once(ctx, who, r.Once, func(tx db.Tx) (Moved, error) { return raiseTx(ctx, tx, who, id, r) })
	if err == nil {
		s.changed(ctx, who.Workspace, id)
	}
	return moved, err
}

func raiseTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID, r Raise) (Moved, error) {
	found, err := lockTx(ctx, tx, who.Workspace, id)
	if err != nil {
		return Moved{}, err
	}
	b := found[0]
	switch {
	case r.Until != nil && !r.Until.After(b.Projection.From):
		return Moved{}, fault.Invalid("until", "It must be in the future.")
	case b.State.Money == nil:
		return Moved{}, fault.Invalid("amount_usd", "%s has no limit in dollars that could be raised.", b.Name)
	case *b.State.Money > MaxMoney-r.Amount:
		return Moved{}, fault.Invalid("amount_usd", "%s would have more than %s.", b.Name, MaxMoney)
	}
	*b.State.Money += r.Amount
	l := line{budget: id, start: b.State.Start, kind: Raised, Amounts: Amounts{Money: r.Amount}}
	if r.Until != nil {
		l.until = *r.Until
	}
	lines, err := linesTx(ctx, tx, who, r.Reason, []line{l})
	if err != nil {
		return Moved{}, err
	}
	if err := limitsTx(ctx, tx, who.Workspace, b); err != nil {
		return Moved{}, err
	}
	if err := keepRaiseTx(ctx, tx, who.Workspace, lines[0], l, r.Until); err != nil {
		return Moved{}, err
	}
	if err := eventlog.RecordTx(ctx, tx, who, eventlog.BudgetRaised,
		b.facts(map[string]any{"amount_usd": r.Amount.Fixed(), "until": r.Until, "reason": r.Reason})); err != nil {
		return Moved{}, err
	}
	after, err := getTx(ctx, tx, who.Workspace, id)
	return Moved{Line: lines[0], Budget: after}, err
}

// Undo takes back a raise or a transfer of the present period, by its line in the ledger
// of the budget that was raised or that gave, and returns that budget. It goes back whole or
// not at all: OverBudget where some of it is settled, reserved or moved on. Forbidden;
// NotFound; InvalidTransition where it was taken back or its period is over. once is nil
// where the request is not sent again.
func (s *Service) Undo(ctx context.Context, who tenancy.Principal, budget ids.ID, id int64, once *idempotency.Key) (Budget, error) {
	if err := mayChange(who); err != nil {
		return Budget{}, err
	}
	var freed []ids.ID
	after, err := s.once(ctx, who, once, func(tx db.Tx) (m Moved, err error) {
		if freed, err = undoTx(ctx, tx, who, budget, id); err != nil {
			return m, err
		}
		m.Budget, err = getTx(ctx, tx, who.Workspace, budget)
		return m, err
	})
	if err == nil {
		s.changed(ctx, who.Workspace, freed...)
	}
	return after.Budget, err
}

// undoTx returns the budgets that have more left afterwards.
func undoTx(ctx context.Context, tx db.Tx, who tenancy.Principal, budget ids.ID, id int64) ([]ids.ID, error) {
	l, err := lineTx(ctx, tx, who.Workspace, budget, id)
	if err != nil {
		return nil, err
	}
	asked := []ids.ID{budget}
	if l.kind == TransferredOut {
		asked = append(asked, l.other)
	}
	found, err := lockTx(ctx, tx, who.Workspace, asked...)
	if err != nil {
		return nil, err
	}
	if !l.start.Equal(found[0].State.Start) {
		return nil, fault.New(fault.InvalidTransition, "Its period is over.")
	}
	// The money went into the period that the other budget had then.
	if other := found[len(found)-1]; len(found) > 1 && l.at.Before(other.State.Start) {
		return nil, fault.New(fault.InvalidTransition, "The period of %s that got the money is over.", other.Name)
	}
	switch l.kind {
	case TransferredOut:
		_, err := transferTx(ctx, tx, who, l.other, Transfer{To: budget, Amount: l.amount, Reason: "taken back"}, id)
		return asked[:1], err
	case Raised:
		return nil, unraiseTx(ctx, tx, who, found[0], id)
	default:
		return nil, fault.New(fault.InvalidTransition, "Only raises and transfers can be taken back.")
	}
}

// unraiseTx takes back what is left of a raise of a locked budget.
func unraiseTx(ctx context.Context, tx db.Tx, who tenancy.Principal, b Budget, id int64) error {
	left, err := raiseLeftTx(ctx, tx, who.Workspace, id)
	if err != nil {
		return err
	}
	free, limited := b.State.Free()
	switch {
	case left == 0:
		return fault.New(fault.InvalidTransition, "The raise was taken back before.")
	case !limited:
		return fault.New(fault.InvalidTransition, "%s has no limit in dollars any more.", b.Name)
	case free < left:
		return overBudget(b.Name, free)
	}
	r := ended{window: window{budget: b.ID, start: b.State.Start}, line: id}
	return expireOneTx(ctx, tx, who, r, b.State, left)
}

// past is a line of the ledger that may be taken back.
type past struct {
	start    time.Time
	kind     Kind
	amount   spend.Nanos
	other    ids.ID
	at       time.Time
	reversed bool
}

func (l past) open() error {
	if l.reversed {
		return fault.New(fault.InvalidTransition, "The transfer was taken back before.")
	}
	return nil
}

// expireTx takes the workspace's raises back that have ended, as far as they are free, and
// returns their budgets.
func expireTx(ctx context.Context, tx db.Tx, who tenancy.Principal) ([]ids.ID, error) {
	due, err := dueTx(ctx, tx, who.Workspace)
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
		if !limited || take <= 0 {
			continue
		}
		if err := expireOneTx(ctx, tx, who, r, state, take); err != nil {
			return nil, err
		}
		gone = append(gone, r.budget)
	}
	return gone, nil
}

// expireOneTx takes so much of a raise out of what its period, locked, has free.
func expireOneTx(ctx context.Context, tx db.Tx, who tenancy.Principal, r ended, of State, take spend.Nanos) error {
	*of.Money -= take
	l := line{budget: r.budget, start: r.start, kind: Expired, Amounts: Amounts{Money: take}}
	if _, err := linesTx(ctx, tx, who, "", []line{l}); err != nil {
		return err
	}
	if err := limitsTx(ctx, tx, who.Workspace, Budget{ID: r.budget, State: of}); err != nil {
		return err
	}
	return q.BudgetRaiseTake(ctx, tx, int64(take), who.Workspace, r.line)
}
