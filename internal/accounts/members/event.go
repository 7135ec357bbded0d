package members

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/tenancy"
)

// AppendTx records what a person did to members, invitations or the
// workspace itself.
func AppendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, facts map[string]any,
	changes ...eventlog.Change) error {
	payload, err := json.Marshal(facts)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	return eventlog.AppendTx(ctx, tx, who.Workspace, eventlog.Event{
		Type: kind, Actor: who.Actor(), Payload: payload, Changes: changes,
	})
}

// memberFacts says in an event whom it is about.
func memberFacts(m Member) map[string]any {
	return map[string]any{"account": m.Account, "member": m.Name, "email": m.Email, "role": m.Role}
}
