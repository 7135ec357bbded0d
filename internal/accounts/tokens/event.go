package tokens

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// appendTx records what happened to a token. Its hint distinguishes it from others of
// its name; it opens nothing.
func appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, t Token) error {
	return eventlog.RecordTx(ctx, tx, who, kind, t.said())
}

// said returns what the log says of a token.
func (t Token) said() map[string]any {
	said := map[string]any{"kind": t.Kind, "name": t.Name, "hint": t.Hint}
	if len(t.Scope.Products) > 0 {
		said["products"] = t.Scope.Products
	}
	if len(t.Scope.Capabilities) > 0 {
		said["capabilities"] = t.Scope.Capabilities
	}
	if t.Scope.Factory != "" {
		said["factory"] = t.Scope.Factory
	}
	if t.MaySubmit {
		said["may_submit"] = true
	}
	if t.Kind == tenancy.KindEnrolment {
		said["roles"] = t.Roles
	}
	return said
}
