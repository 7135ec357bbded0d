package vault

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// rewrapBatch is how many workspaces are looked up at once.
const rewrapBatch = 200

// Rewrapped is what became of data keys that another key of the server wrapped.
type Rewrapped struct {
	Done   int // wrapped by the present key now
	Locked int // wrapped by one that this process was not given
}

// Rewrap has the present key of the server wrap all data keys that earlier ones
// wrap; the values under them stay as they are. It is safe in several processes
// at once, and finds nothing to do once it is done.
func (v *Vault) Rewrap(ctx context.Context) (Rewrapped, error) {
	var all Rewrapped
	for after, more := ids.Nil, len(v.servers) > 1; more; {
		var batch []ids.ID
		err := v.db.In(ctx, db.System, func(tx db.Tx) (err error) {
			batch, err = q.VaultWrappedBy(ctx, tx, v.servers[1:], after, rewrapBatch)
			return err
		})
		if err != nil {
			return all, fmt.Errorf("look for data keys of earlier server keys: %w", err)
		}
		for _, workspace := range batch {
			done, err := v.rewrap(ctx, workspace)
			if err != nil {
				return all, fmt.Errorf("wrap data keys anew: %w", err)
			}
			all.Done += done
			after = workspace
		}
		more = len(batch) == rewrapBatch
	}
	err := v.db.In(ctx, db.System, func(tx db.Tx) error {
		locked, err := q.VaultLocked(ctx, tx, v.servers)
		all.Locked = locked
		return err
	})
	if err != nil {
		return all, fmt.Errorf("count locked data keys: %w", err)
	}
	return all, nil
}

// rewrap does it in one workspace. A wrapped key that was changed stays as it is:
// what it sealed is refused.
func (v *Vault) rewrap(ctx context.Context, workspace ids.ID) (done int, err error) {
	err = v.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		done = 0
		rows, err := q.VaultKeysWrappedBy(ctx, tx, workspace, v.servers[1:])
		if err != nil {
			return err
		}
		for _, r := range rows {
			place := generation{workspace, r.ID}.place()
			plain, _, err := v.wrap.Open(place, r.Wrapped)
			if err != nil {
				continue
			}
			n, err := q.VaultKeyRewrap(ctx, tx, dbsqlc.VaultKeyRewrapParams{WorkspaceID: workspace, ID: r.ID,
				Wrapped: v.wrap.Seal(place, plain), ServerKey: v.servers[0], OldWrapped: r.Wrapped})
			if err != nil {
				return err
			}
			done += int(n)
		}
		return nil
	})
	return done, err
}
