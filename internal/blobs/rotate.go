package blobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// resealBatch is how many keys one transaction seals anew.
const resealBatch = 200

// RotateKeys seals the keys of blobs anew that an earlier key of their workspace has
// sealed, and returns how many; the pieces under them stay as they are. An earlier key
// can be retired once nothing is left of it. It is safe in several processes at once.
func (s *Service) RotateKeys(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.VaultRotating(ctx, tx)
		return err
	})
	total := 0
	for _, workspace := range workspaces {
		if err == nil {
			var n int
			n, err = s.rotate(ctx, workspace)
			total += n
		}
	}
	if err != nil {
		return total, fmt.Errorf("rotate keys of blobs: %w", err)
	}
	return total, nil
}

// rotate does it in one workspace, the oldest key first.
func (s *Service) rotate(ctx context.Context, workspace ids.ID) (total int, err error) {
	var old []int
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		old, err = q.VaultKeysOld(ctx, tx, workspace)
		return err
	})
	for _, key := range old {
		for after, more := ids.Nil, true; more && err == nil; {
			err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
				list, moved, err := s.resealTx(ctx, tx, workspace, key, after)
				if more = len(list) == resealBatch; more {
					after = list[len(list)-1].id
				}
				total += moved
				return err
			})
		}
	}
	return total, err
}

// resealTx moves the next keys to the workspace's newest one. Those that do not open stay
// where they are: a read says so.
func (s *Service) resealTx(ctx context.Context, tx db.Tx, workspace ids.ID, key int, after ids.ID) (list []stored, moved int, err error) {
	if list, err = sealedByTx(ctx, tx, workspace, key, after); err != nil || len(list) == 0 {
		return nil, 0, err
	}
	newest, err := s.vault.WriterTx(ctx, tx, workspace)
	if err != nil {
		return nil, 0, unavailable(err)
	}
	keys, err := s.vault.KeysTx(ctx, tx, workspace, key)
	if err != nil {
		return nil, 0, err
	}
	for _, one := range list {
		at := keyPlace(workspace, one.id)
		plain, err := keys.Open(at, vault.Sealed{Key: key, Bytes: one.sealedKey})
		if errors.Is(err, vault.ErrLocked) || errors.Is(err, vault.ErrRefused) {
			continue
		}
		sealed := newest.Seal(at, plain)
		if err := resealTx(ctx, tx, workspace, one, sealed.Key, sealed.Bytes); err != nil {
			return nil, moved, err
		}
		moved++
	}
	return list, moved, nil
}
