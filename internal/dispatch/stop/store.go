package stop

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// actor is what events name as who pauses the jobs of a stop and lets them go on.
const actor = tenancy.Stop

var q = dbsqlc.New()

// scope is what a stop covers: a product, or the whole fleet where name is "".
type scope struct {
	product ids.ID
	name    string
	at      string // its place in the request
}

// field names the scope in the log.
func (s scope) field() string {
	if s.name == "" {
		return "fleet"
	}
	return "product " + s.name
}

// scopesTx finds products by name; none is the whole fleet.
func scopesTx(ctx context.Context, tx db.Tx, workspace ids.ID, names []string) ([]scope, error) {
	if len(names) == 0 {
		return []scope{{}}, nil
	}
	products, err := q.ProductList(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	known := make(map[string]ids.ID, len(products))
	for _, p := range products {
		known[p.Name] = p.ID
	}
	problems := fault.Problems{}
	var scopes []scope
	for i, name := range names {
		at := fmt.Sprintf("products[%d]", i)
		id, there := known[name]
		if !there {
			problems.Add(at, "There is no product %s in this workspace.", name)
		}
		if !slices.ContainsFunc(scopes, func(s scope) bool { return s.product == id }) {
			scopes = append(scopes, scope{product: id, name: name, at: at})
		}
	}
	return scopes, problems.Err()
}

func saveStopTx(ctx context.Context, tx db.Tx, who tenancy.Principal, product ids.ID, o Order) error {
	by := who.Actor()
	row := dbsqlc.StopSaveParams{WorkspaceID: who.Workspace, ID: ids.New(), Hold: string(o.Hold), Reason: o.Reason,
		ByKind: string(by.Kind), ByID: by.ID, ByName: by.Name}
	if product != ids.Nil {
		row.ProductID = &product
	}
	return q.StopSave(ctx, tx, row)
}

// directTx directs the holders of stopped jobs to pause, some at once, and returns the jobs.
func directTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]ids.ID, error) {
	return q.StopDirect(ctx, tx, workspace, lease.MaxSwept, actor, lease.GraceSeconds)
}

// easeTx takes directives back that nothing stops any more, some at once, and returns the jobs.
func easeTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]ids.ID, error) {
	return q.StopEase(ctx, tx, workspace, lease.MaxSwept, actor)
}
