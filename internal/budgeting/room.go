package budgeting

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// Room is what a lease may still spend: what is free of a budget, and what the lease has
// reserved of it.
type Room struct {
	// Budget is the one with the least money left, of the hard ones where there are such;
	// "" where none limits money.
	Budget string
	Hard   bool
	Left   spend.Nanos // below 0 where it is overspent
	// UsedUp says which hard budget has nothing left, in money or in tokens; "" where
	// each has.
	UsedUp string
}

// RoomTx reads what a lease may still spend. It locks nothing.
func RoomTx(ctx context.Context, tx db.Tx, workspace ids.ID, lease spend.Lease) (Room, error) {
	c, err := coveredTx(ctx, tx, workspace, []ids.ID{lease.Job})
	if err != nil || len(c.budgets) == 0 {
		return Room{}, err
	}
	if err := periodTx(ctx, tx, workspace, c.budgets, c.now, false); err != nil {
		return Room{}, err
	}
	reserved, err := reservedTx(ctx, tx, workspace, []ids.ID{lease.Job})
	if err != nil {
		return Room{}, err
	}
	var room Room
	for _, b := range c.budgets {
		h := reserved[reservationKey{lease, b.id, b.state.Start.UTC()}]
		if h == nil {
			h = &held{}
		}
		room.add(b, h)
	}
	return room, nil
}

// add takes another budget into account, and reports whether it has the least money left.
func (r *Room) add(b *budget, h *held) bool {
	money, limited := b.state.Free()
	left := money + h.nanos
	tightest := limited && (r.Budget == "" || b.hard && !r.Hard || b.hard == r.Hard && left < r.Left)
	if tightest {
		r.Budget, r.Hard, r.Left = b.name, b.hard, left
	}
	tokens, limitedTokens := b.state.FreeTokens()
	if b.hard && (limited && left <= 0 || limitedTokens && tokens+h.tokens <= 0) {
		r.UsedUp = b.usedUp()
	}
	return tightest
}
