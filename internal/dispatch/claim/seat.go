package claim

import (
	"cmp"
	"context"
	"errors"

	"fleetboard/db"
	"fleetboard/internal/batch"
	"fleetboard/internal/dispatch/lease"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// FillTx gives agents jobs for the seats that they free in this transaction, and waits for no
// lock. A seat is left where that needs a lock which somebody else has, and in a workspace with
// budgets: the end of a lease and a claim lock those in different orders, and two transactions
// that do both could wait for each other. notify runs after the commit.
func (s *Service) FillTx(ctx context.Context, tx db.Tx, workspace ids.ID, seats []*lease.Seat) (notify func(), err error) {
	items := make([]*batch.Item[claimCall, claimResult], 0, len(seats))
	for _, seat := range seats {
		items = append(items, batch.NewItem[claimCall, claimResult](seat.Ctx,
			claimCall{seat.Who, requestOf(seat.Next), s.waiters.Hint(seat.Who.Agent)}))
	}
	b := s.newBatch(ctx, tx, workspace, items)
	b.filling = true
	notify, err = b.exec()
	if err != nil && !errors.Is(err, batch.ErrNothingWritten) {
		return nil, err
	}
	for n, i := range items {
		if i.Err == nil && !i.Retrying() && !i.Res.again {
			seats[n].Claimed, seats[n].Filled = i.Res.claimed, true
		}
	}
	return notify, nil
}

// Fill gives an agent jobs in a transaction of its own, where FillTx left its seat.
func (s *Service) Fill(ctx context.Context, who tenancy.Principal, next lease.Next) (lease.Claimed, error) {
	return s.Claim(ctx, who, requestOf(next))
}

// Delivered is to be called before an answer with jobs is given: it takes them back where the
// caller has gone away meanwhile, and returns why it did.
func (s *Service) Delivered(ctx context.Context, who tenancy.Principal, next lease.Next, given lease.Claimed) error {
	if len(given.Jobs) == 0 {
		return nil
	}
	return s.revokeUndelivered(ctx, who, requestOf(next), given.Jobs)
}

func requestOf(next lease.Next) Request {
	return Request{Max: cmp.Or(next.Max, 1), TTLSeconds: cmp.Or(next.TTLSeconds, lease.DefaultTTL), RequestID: next.RequestID}
}
