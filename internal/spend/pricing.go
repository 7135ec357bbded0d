package spend

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

// pricing is where the pricing of a workspace's usage stands.
type pricing struct {
	since   time.Time
	after   place
	locked  bool // something was locked by others in this pass
	savedAt time.Time
	now     time.Time
}

// place is an entry in the order of instants.
type place struct {
	at time.Time
	entryKey
}

// Priced is what one step of pricing did.
type Priced struct {
	Charges []Charge
	Entries int
	Cost    Nanos // of all of them, charged or imputed
	More    bool  // there is more to do at once
}

// settleTime is how long after prices were saved a record that began before may still come
// without a price.
const settleTime = time.Minute

// PriceTx prices entries of which no cost is known, at most so many, in the order of their
// instants, where prices were saved for them, and raises the sums of their leases. It waits
// for nobody: what others have locked is left for the next pass. A known cost is never
// changed.
func PriceTx(ctx context.Context, tx db.Tx, workspace ids.ID, most int) (Priced, error) {
	stands, asked, err := pricingTx(ctx, tx, workspace)
	if err != nil || !asked {
		return Priced{}, err
	}
	found, err := toPriceTx(ctx, tx, workspace, stands.after, most)
	if err != nil {
		return Priced{}, err
	}
	r := &recording{ctx: ctx, tx: tx, workspace: workspace}
	if r.prices, err = prices.BookTx(ctx, tx, workspace); err != nil {
		return Priced{}, err
	}
	done, locked, err := r.priceAll(found)
	if err != nil {
		return Priced{}, err
	}
	stands.locked = stands.locked || locked
	if done.More = len(found) == most; done.More {
		last := found[len(found)-1]
		stands.after = last.place
		return done, stands.moveTx(ctx, tx, workspace)
	}
	return done, stands.endTx(ctx, tx, workspace)
}

// unpriced is an entry of which no cost is known.
type unpriced struct {
	place

	epoch           int64
	provider, model string
}

// priceAll prices those of the entries that there is a price for and that nobody else has
// locked, and reports whether somebody has.
func (r *recording) priceAll(found []unpriced) (done Priced, locked bool, err error) {
	priced, at := []unpriced{}, map[entryKey]time.Time{}
	for _, u := range found {
		if _, known := r.prices.Find(u.provider, u.model, u.at); known {
			priced = append(priced, u)
			at[u.entryKey] = u.at
		}
	}
	if len(priced) == 0 {
		return done, false, nil
	}
	kept, err := lockFreeTx(r.ctx, r.tx, r.workspace, priced)
	if err != nil {
		return done, false, err
	}
	var more []keptEntry
	for _, k := range kept {
		if k.priceID != 0 || k.numbers.reported != unknown {
			continue
		}
		price, _ := r.prices.Find(k.provider, k.model, at[k.key()])
		k.price = &price
		after := k.numbers.usage(k.numbers.cost(k.price))
		t := &telling{Entry: Entry{ID: k.id, Provider: k.provider, Model: k.model, At: at[k.key()]}}
		t.Claimed, t.Now = t.At, t.At
		r.book(t, k.Booking, after.minus(k.numbers.usage(k.numbers.cost(nil))))
		more, done.Cost = append(more, k), done.Cost+after.Charged+after.Imputed
	}
	done.Entries = len(more)
	if err := raiseTx(r.ctx, r.tx, r.workspace, more); err != nil {
		return done, false, err
	}
	done.Charges = r.charges
	return done, len(kept) < len(priced), sumTx(r.ctx, r.tx, r.workspace, r.raised)
}
