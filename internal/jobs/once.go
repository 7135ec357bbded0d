package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Key names a request for this, so that it may be sent again. What is requested
// may hold secrets, which nobody can find from what is kept of it.
func (s *Service) Key(name string, asked []byte) *idempotency.Key {
	return &idempotency.Key{Name: name, Digests: s.Secrets.Digests(asked)}
}

// KeepKey takes the key of a request that changes many jobs, each by itself with its part
// of the key. IdempotencyKeyReused where it came with another request.
func (s *Service) KeepKey(ctx context.Context, who tenancy.Principal, key *idempotency.Key) error {
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		_, err := idempotency.TakeTx(ctx, tx, who, key, struct{}{})
		return err
	})
}
