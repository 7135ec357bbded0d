package spend

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// Outcome is what became of an entry that was reported.
type Outcome string

// The outcomes.
const (
	Recorded Outcome = "recorded" // it was not there
	Raised   Outcome = "raised"   // it was there, with less
	Known    Outcome = "known"    // it was there, with as much
)

// RecordTx adds the entries that are not there yet, raises the others to what is larger,
// meter by meter, and the sums of their leases by the difference, all or nothing. The
// outcomes are in the order of the entries; the charges are what budgets are charged. Each
// entry has passed Check and says what it is booked under. One that is raised stays booked
// under its first lease, model and price; only its instant is that of the new telling. It
// waits for whoever adds one of the same entries, or to the same sums, at this moment.
func RecordTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Entry) ([]Outcome, []Charge, error) {
	r := &recording{ctx: ctx, tx: tx, workspace: workspace, told: map[entryKey]*telling{}}
	outcomes := make([]Outcome, len(list))
	for i, e := range list {
		n, err := e.numbers()
		if err != nil {
			return nil, nil, fmt.Errorf("entry %d: %w", i, err)
		}
		outcomes[i] = r.tell(e, n)
	}
	if len(r.order) == 0 {
		return outcomes, nil, nil
	}
	if err := r.save(); err != nil {
		return nil, nil, err
	}
	for i, e := range list {
		outcomes[i] = r.told[e.key()].judge(i, list, outcomes[i])
	}
	return outcomes, r.charges, nil
}

// recording is what one call reports.
type recording struct {
	ctx       context.Context // lives as long as the call
	tx        db.Tx
	workspace ids.ID

	prices  prices.Book
	told    map[entryKey]*telling
	order   []*telling // in the order in which they were reported first
	raised  []raise
	charges []Charge
}

// telling is what one call reports of one entry, all together.
type telling struct {
	Entry

	numbers numbers
	price   *prices.Price
	before  *numbers // nil where it was not there
}

// tell takes up one report of an entry, and says what becomes of it within this call.
func (r *recording) tell(e Entry, n numbers) Outcome {
	t, again := r.told[e.key()]
	if !again {
		t = &telling{Entry: e, numbers: n}
		r.told[e.key()], r.order = t, append(r.order, t)
		return Recorded
	}
	more := t.numbers.raised(n)
	if more == t.numbers {
		return Known
	}
	t.numbers = more
	return Raised
}

// judge returns the outcome of telling i, which would have been the given one had the entry not
// been there.
func (t *telling) judge(i int, list []Entry, alone Outcome) Outcome {
	if t.before == nil {
		return alone
	}
	sum := *t.before
	for _, e := range list[:i] {
		if n, err := e.numbers(); err == nil && e.key() == t.key() {
			sum = sum.raised(n)
		}
	}
	if n, err := list[i].numbers(); err == nil && sum.raised(n) == sum {
		return Known
	}
	return Raised
}

// save writes all tellings: new entries first, then those that were there, then the sums.
func (r *recording) save() (err error) {
	if r.prices, err = prices.BookTx(r.ctx, r.tx, r.workspace); err != nil {
		return err
	}
	for _, t := range r.order {
		if p, found := r.prices.Find(t.Provider, t.Model, t.bookedAt()); found {
			t.price = &p
		}
	}
	added, err := insertTx(r.ctx, r.tx, r.workspace, r.order)
	if err != nil {
		return err
	}
	var known []*telling
	for _, t := range r.order {
		if added[t.key()] {
			r.book(t, t.Booking, t.numbers.usage(t.numbers.cost(t.price)))
		} else {
			known = append(known, t)
		}
	}
	if err := r.raise(known); err != nil {
		return err
	}
	return sumTx(r.ctx, r.tx, r.workspace, r.raised)
}

// raise raises entries that were there.
func (r *recording) raise(known []*telling) error {
	if len(known) == 0 {
		return nil
	}
	kept, err := lockTx(r.ctx, r.tx, r.workspace, known)
	if err != nil {
		return err
	}
	var more []keptEntry
	for _, t := range known {
		k := kept[t.key()]
		stood := k.numbers
		t.before = &stood
		if p, found := r.prices.Prices.ByID(k.priceID); found {
			k.price = &p
		}
		k.numbers = stood.raised(t.numbers)
		if k.numbers == stood {
			continue
		}
		more = append(more, k)
		t.Provider, t.Model = k.provider, k.model
		r.book(t, k.Booking, k.numbers.usage(k.numbers.cost(k.price)).minus(stood.usage(stood.cost(k.price))))
	}
	return raiseTx(r.ctx, r.tx, r.workspace, more)
}

// book notes by how much an entry was raised, and what it is booked under.
func (r *recording) book(t *telling, under Booking, more Usage) {
	at := t.bookedAt()
	key := hourKey{lease: Lease{under.Job, under.Epoch}, hour: at.UTC().Truncate(time.Hour), provider: t.Provider, model: t.Model,
		product: under.Product}
	r.raised = append(r.raised, raise{hourKey: key, Booking: under, more: more})
	if more.Charged != 0 || more.Tokens() != 0 {
		r.charges = append(r.charges, Charge{Lease: key.lease, Product: under.Product, Phase: under.Phase, Provider: t.Provider,
			Model: t.Model, At: at, Entry: t.ID, Nanos: more.Charged, Tokens: more.Tokens(), Unpriced: more.UnpricedTokens,
			Uncosted: more.UnpricedTokens > 0 && more.Charged == 0})
	}
}
