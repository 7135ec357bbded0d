package fleet

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Hold is how much a stop holds.
type Hold string

const (
	// HoldClaims gives out no new jobs.
	HoldClaims Hold = "claims"
	// HoldAll also directs those who work to pause.
	HoldAll Hold = "all"
)

// Stop is what a person has stopped: one product, or the whole fleet.
type Stop struct {
	ID        ids.ID
	ProductID ids.ID // ids.Nil is the whole fleet
	Product   string // "" is the whole fleet
	Hold      Hold
	Reason    string
	By        tenancy.Actor
	At        time.Time
}

// Stops is what is stopped in a workspace, the whole fleet first.
type Stops []Stop

// Covering returns the stop that holds the jobs of a product, nil where none does: that of the
// product, or else that of the whole fleet; one that holds all before one that holds claims.
func (s Stops) Covering(product ids.ID) *Stop {
	return s.covering(func(one *Stop) bool { return one.ProductID == product })
}

// CoveringName is Covering for the name of a product.
func (s Stops) CoveringName(product string) *Stop {
	return s.covering(func(one *Stop) bool { return one.Product == product })
}

func (s Stops) covering(isOf func(*Stop) bool) (found *Stop) {
	for i := range s {
		one := &s[i]
		covers := one.ProductID == ids.Nil || isOf(one)
		if covers && (found == nil || one.Hold == HoldAll || found.Hold == HoldClaims) {
			found = one
		}
	}
	return found
}

// At returns the stop of a product itself, or of the whole fleet for ids.Nil; nil where there is
// none.
func (s Stops) At(product ids.ID) *Stop {
	for i := range s {
		if s[i].ProductID == product {
			return &s[i]
		}
	}
	return nil
}

// Whole returns the stop of the whole fleet, nil where there is none.
func (s Stops) Whole() *Stop { return s.At(ids.Nil) }

// StopLock names the lock that whoever writes a stop holds alone, and that claims share.
func StopLock(workspace ids.ID) string { return "stop:" + workspace.String() }

// StopsTx reads what is stopped in a workspace.
func StopsTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Stops, error) {
	rows, err := q.StopList(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	stops := make(Stops, 0, len(rows))
	for _, r := range rows {
		s := Stop{ID: r.ID, Product: r.Product, Hold: Hold(r.Hold), Reason: r.Reason,
			By: tenancy.ParseActor(r.ByKind, r.ByID, r.ByName), At: r.StoppedAt}
		if r.ProductID != nil {
			s.ProductID = *r.ProductID
		}
		stops = append(stops, s)
	}
	return stops, nil
}
