package lease

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Scopes says which jobs are within the scope of an agent's token.
type Scopes struct{}

// MayReadAnyTx reports whether one of the jobs is within the scope of who.
func (Scopes) MayReadAnyTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []ids.ID) (bool, error) {
	of, err := scopesTx(ctx, tx, who.Workspace, list)
	for _, job := range of {
		if InScope(who.Scope, job) {
			return true, nil
		}
	}
	return false, err
}
