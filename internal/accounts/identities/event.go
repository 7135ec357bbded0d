package identities

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetboard/db"
	"fleetboard/internal/accounts/people"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/tenancy"
)

// appendTx records what a person did to the own ways in.
func appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, issuer, email string) error {
	payload, err := json.Marshal(map[string]string{"issuer": issuer, "email": email})
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	return people.AppendTx(ctx, tx, who, eventlog.Event{Type: kind, Payload: payload})
}
