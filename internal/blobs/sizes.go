package blobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Sizes returns how many bytes blobs have, for people who read the board; one that is not there
// is left out.
func (s *Service) Sizes(ctx context.Context, who tenancy.Principal, sums ...Sum) (sizes map[Sum]int64, err error) {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.ReadBoard) {
		return nil, fault.New(fault.Forbidden, "Sizes are for people who read the board.")
	}
	if len(sums) == 0 {
		return nil, nil
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		sizes, err = sizesTx(ctx, tx, who.Workspace, sums)
		return err
	})
	return sizes, err
}
