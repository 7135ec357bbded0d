package budgeting

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Actor is what events name as who acts for budgets.
const Actor = "budget"

// maxSum keeps the sums of a period within what a number holds, whatever agents report.
const maxSum = math.MaxInt64 / 2

// Charged is what follows from charges.
type Charged struct {
	// Pause are running jobs that a hard budget has nothing left for, with the sentence
	// that their holders get.
	Pause map[ids.ID]string
	// Warn are leases that live on the last of what they have reserved and whose holders
	// were not warned yet.
	Warn map[spend.Lease]string
	// Eased are jobs whose holders were warned and that have enough left again.
	Eased []ids.ID
}

// ChargeTx settles what was used in the budgets of its jobs, in the periods of its
// instants: first out of what the lease has reserved, the rest out of what is free. A
// lease that lasts and has used more than half of a slice gets another one where there is
// enough left, also of a budget or a period of which it had none. Thresholds that are reached are
// reported, each once in a period. The periods are locked until the transaction ends.
func ChargeTx(ctx context.Context, tx db.Tx, workspace ids.ID, charges []spend.Charge) (Charged, error) {
	if len(charges) == 0 {
		return Charged{}, nil
	}
	jobs := make([]ids.ID, 0, len(charges))
	for _, ch := range charges {
		jobs = append(jobs, ch.Job)
	}
	c, err := coveredTx(ctx, tx, workspace, jobs)
	if err != nil || len(c.budgets) == 0 {
		return Charged{}, err
	}
	s := &settling{ctx: ctx, tx: tx, workspace: workspace, covered: c, byKey: map[reservationKey]*settlement{},
		short: map[ids.ID]bool{}, out: Charged{Pause: map[ids.ID]string{}, Warn: map[spend.Lease]string{}}}
	if err := s.read(jobs, charges); err != nil {
		return Charged{}, err
	}
	for _, ch := range charges {
		if a := s.asks[ch.Job]; a != nil {
			for _, b := range a.budgets {
				s.chargeIn(ch, b)
			}
		}
	}
	if err := s.write(); err != nil {
		return Charged{}, err
	}
	return s.followUp()
}

// settling is the charges of one transaction.
type settling struct {
	ctx       context.Context // lives as long as the call
	tx        db.Tx
	workspace ids.ID
	covered

	states periods
	before periods // as they were when they were read
	held   map[reservationKey]*held
	lasts  map[spend.Lease]bool // leases that may begin to reserve something of another period
	byKey  map[reservationKey]*settlement
	short  map[ids.ID]bool // running jobs that a hard budget has too little left for
	out    Charged
}

// reservationKey names what a lease has reserved of one period of a budget.
type reservationKey struct {
	lease  spend.Lease
	budget ids.ID
	start  time.Time
}

// held is what a lease has reserved and not used.
type held struct {
	nanos  spend.Nanos
	tokens int64
	warned bool // its holder, by a budget
}

// crossing is a threshold that a budget has reached.
type crossing struct {
	budget    *budget
	start     time.Time
	threshold int
}

// read locks the periods that the charges fall into, all at once in the order in which all
// lock them, and reads what the leases have reserved.
func (s *settling) read(jobs []ids.ID, charges []spend.Charge) (err error) {
	instants := make([]time.Time, len(charges))
	for i, ch := range charges {
		instants[i] = ch.At
	}
	if s.states, err = periodsTx(s.ctx, s.tx, s.workspace, s.budgets, instants, true); err != nil {
		return err
	}
	s.before = maps.Clone(s.states)
	if s.held, err = reservedTx(s.ctx, s.tx, s.workspace, jobs); err != nil {
		return err
	}
	s.lasts, err = lastingTx(s.ctx, s.tx, s.workspace, s.unreserved(charges))
	return err
}

// unreserved returns the leases that have reserved nothing of a present period which they are
// charged in: those that have ended, and those whose periods or budgets are others now.
func (s *settling) unreserved(charges []spend.Charge) []spend.Lease {
	var list []spend.Lease
	seen := map[spend.Lease]bool{}
	for _, ch := range charges {
		a := s.asks[ch.Job]
		if a == nil || seen[ch.Lease] {
			continue
		}
		for _, b := range a.budgets {
			if !b.presentAt(ch.At, s.now) {
				continue
			}
			if start, _ := b.bounds(ch.At); s.held[reservationKey{ch.Lease, b.id, start.UTC()}] == nil {
				seen[ch.Lease], list = true, append(list, ch.Lease)
				break
			}
		}
	}
	return list
}

// chargeIn settles one charge in the period of one budget in which its instant lies.
func (s *settling) chargeIn(ch spend.Charge, b *budget) {
	start, _ := b.bounds(ch.At)
	key := periodKey{b.id, start.UTC()}
	state, open := s.states[key]
	if !open {
		return // the budget was removed at this moment
	}
	b.state = state
	s.charge(ch, b)
	s.states[key] = b.state
}

// charge settles one charge in one budget.
func (s *settling) charge(ch spend.Charge, b *budget) {
	key := reservationKey{ch.Lease, b.id, b.state.Start.UTC()}
	w := s.byKey[key]
	if w == nil {
		w = &settlement{Job: ch.Job, Epoch: ch.Epoch, Budget: b.id, Start: b.state.Start}
		s.byKey[key] = w
	}
	nanos := min(ch.Nanos, max(0, maxSum-b.state.Settled.Money))
	tokens := min(ch.Tokens, max(0, maxSum-b.state.Settled.Tokens))
	h, reserved := s.held[key]
	if !reserved {
		h = &held{}
	}
	// Where the sum of a period is wrong, what it has is what can be used.
	fromNanos, fromTokens := min(nanos, h.nanos, b.state.Reserved.Money), min(tokens, h.tokens, b.state.Reserved.Tokens)
	h.nanos, h.tokens = h.nanos-fromNanos, h.tokens-fromTokens
	unpriced := max(ch.Unpriced, -b.state.UnpricedTokens)
	w.add(ch.Entry, amounts{HeldNanos: int64(fromNanos), HeldTokens: fromTokens, FreeNanos: int64(nanos - fromNanos),
		FreeTokens: tokens - fromTokens, Unpriced: unpriced})
	b.state.Settled.Money += nanos
	b.state.Settled.Tokens += tokens
	b.state.Reserved.Money -= fromNanos
	b.state.Reserved.Tokens -= fromTokens
	b.state.UnpricedTokens += unpriced
	if b.presentAt(ch.At, s.now) && (reserved || s.lasts[ch.Lease]) {
		s.topUp(ch.Lease, b, w, h, !reserved)
		if !reserved {
			s.held[key] = h
		}
	}
}

// topUp reserves another slice where less than half of one is left, as far as there is
// enough left; what has no limit is not reserved.
func (s *settling) topUp(lease spend.Lease, b *budget, w *settlement, h *held, isNew bool) {
	w.IsNew = w.IsNew || isNew
	money, limited := b.state.Free()
	noMoney := false
	if limited && h.nanos < b.slice/2 {
		if noMoney = b.hard && money < b.slice; !noMoney {
			w.MoreNanos, h.nanos = w.MoreNanos+int64(b.slice), h.nanos+b.slice
			b.state.Reserved.Money += b.slice
		}
	}
	tokens, limitedTokens := b.state.FreeTokens()
	noTokens := false
	if limitedTokens && h.tokens < b.sliceTokens/2 {
		if noTokens = b.hard && tokens < b.sliceTokens; !noTokens {
			w.MoreTokens, h.tokens = w.MoreTokens+b.sliceTokens, h.tokens+b.sliceTokens
			b.state.Reserved.Tokens += b.sliceTokens
		}
	}
	s.judge(lease, b, h, noMoney, noTokens)
}

// judge says what follows for the holder of a lease from what a budget has too little left for.
func (s *settling) judge(lease spend.Lease, b *budget, h *held, noMoney, noTokens bool) {
	s.short[lease.Job] = s.short[lease.Job] || noMoney || noTokens
	switch {
	case noMoney && h.nanos == 0 || noTokens && h.tokens == 0:
		s.out.Pause[lease.Job] = b.usedUp()
	case (noMoney || noTokens) && !h.warned:
		s.out.Warn[lease] = fmt.Sprintf("The budget %q is nearly used up: the job has %s of it left.", b.name, left(noMoney, h))
	case h.warned:
		s.out.Eased = append(s.out.Eased, lease.Job)
	}
}

// left returns what a lease has left of what it has reserved, in money or in tokens.
func left(money bool, h *held) string {
	if money {
		return h.nanos.Floor().String()
	}
	return fmt.Sprintf("%d tokens", h.tokens)
}

// write writes what is settled of one set of periods.
func (s *settling) write() error {
	rows := make([]*settlement, 0, len(s.byKey))
	for _, w := range s.byKey {
		if !w.isNothing() {
			rows = append(rows, w)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b *settlement) int {
		return cmp.Or(slices.Compare(a.Budget[:], b.Budget[:]), slices.Compare(a.Job[:], b.Job[:]), cmp.Compare(a.Epoch, b.Epoch))
	})
	return settleTx(s.ctx, s.tx, s.workspace, rows)
}

// crossings returns the thresholds that were reached, in the order of budgets and periods.
func (s *settling) crossings() []crossing {
	named := make(map[ids.ID]*budget, len(s.budgets))
	for _, b := range s.budgets {
		named[b.id] = b
	}
	var list []crossing
	for _, key := range slices.SortedFunc(maps.Keys(s.states), periodKey.compare) {
		b := named[key.budget]
		b.state = s.states[key]
		for _, threshold := range b.reached(s.before[key]) {
			list = append(list, crossing{budget: b, start: b.state.Start, threshold: threshold})
		}
	}
	return list
}

// followUp reports thresholds that were reached, and says which jobs are to stop.
func (s *settling) followUp() (Charged, error) {
	who := tenancy.System(s.workspace, Actor)
	for _, f := range s.crossings() {
		isNew, err := fireTx(s.ctx, s.tx, s.workspace, f)
		if err != nil {
			return Charged{}, err
		}
		if !isNew {
			continue
		}
		err = eventlog.RecordTx(s.ctx, s.tx, who, eventlog.BudgetThreshold, map[string]any{
			"budget": f.budget.name, "budget_id": f.budget.id, "threshold": f.threshold, "period_start": f.start})
		if err != nil {
			return Charged{}, err
		}
	}
	maps.DeleteFunc(s.out.Warn, func(lease spend.Lease, _ string) bool { return s.out.Pause[lease.Job] != "" })
	s.out.Eased = slices.DeleteFunc(s.out.Eased, func(job ids.ID) bool { return s.short[job] })
	return s.out, nil
}

// maxTopUps is how many warned leases one change of a budget looks at; their next reports
// of usage do the rest.
const maxTopUps = 200

// TopUpTx reserves more for the leases that were warned, as far as enough is left now.
func TopUpTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Charged, error) {
	warned, err := warnedTx(ctx, tx, workspace, maxTopUps)
	if err != nil {
		return Charged{}, err
	}
	return ChargeTx(ctx, tx, workspace, warned)
}
