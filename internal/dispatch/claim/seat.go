package claim

import (
	"cmp"
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// FillTx gives agents jobs for the seats that they free in this transaction, and waits for no
// lock. A seat is left where that needs a lock which somebody else has, and in a workspace with
// budgets: the end of a lease and a claim lock those in different orders, and two transactions
// that do both could wait for each other. notify runs after the commit.
func (s *Service) FillTx(ctx context.Context, tx db.Tx, workspace ids.ID, seats []*lease.Seat) (notify func(), err error) {
	items := make([]*batch.Item[claimCall, claimResult], 0, len(seats))
	for _, seat := range seats {
		items = append(items, batch.NewItem[claimCall, claimResult](seat.Ctx,
			claimCall{seat.Who, toRequest(seat.Next), s.waiters.Hint(seat.Who.Agent)}))
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

// Deliver returns what an agent gets for its seat once the transaction that freed it has committed:
// what FillTx found, or what a claim of its own finds where FillTx has left the seat. Like each
// claim it takes lapsed leases back in passing. Of a caller who went away meanwhile it takes
// the jobs back, and returns why that did.
func (s *Service) Deliver(ctx context.Context, seat lease.Seat) (lease.Claimed, error) {
	in := toRequest(seat.Next)
	if !seat.Filled {
		return s.Claim(ctx, seat.Who, in)
	}
	s.reaper.ReapInPassing(ctx, seat.Who.Workspace)
	if len(seat.Claimed.Jobs) == 0 {
		return seat.Claimed, ctx.Err()
	}
	return seat.Claimed, s.revokeUndelivered(ctx, seat.Who, in, seat.Claimed.Jobs)
}

func toRequest(next lease.Next) Request {
	return Request{Max: cmp.Or(next.Max, 1), TTLSeconds: cmp.Or(next.TTLSeconds, lease.DefaultTTL), RequestID: next.RequestID}
}
