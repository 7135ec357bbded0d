package blobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// collectWorkspaces, collectBlobs and collectData bound what one call looks at: the
	// workspaces, and in each of them the blobs that are freed and the bytes that go.
	collectWorkspaces = 50
	collectBlobs      = 200
	collectData       = 20
)

// Collect frees blobs to which nothing has referred for longer than Grace, and removes
// bytes without a name: of blobs that were freed an hour ago, and of uploads that were
// broken off. It does a bounded part in each call, returns how many it looked at, and is
// safe in several processes at once.
func (s *Service) Collect(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.BlobCollectWorkspaces(ctx, tx, collectWorkspaces, Grace.Seconds())
		return err
	})
	total := 0
	for _, workspace := range workspaces {
		// A store that does not answer keeps nobody from the others.
		freed, freeErr := s.free(ctx, workspace)
		removed, removeErr := s.remove(ctx, workspace)
		total, err = total+freed+removed, errors.Join(err, freeErr, removeErr)
	}
	return total, err
}

// free takes their name from blobs that nothing refers to.
func (s *Service) free(ctx context.Context, workspace ids.ID) (n int, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		var data []ids.ID
		if n, data, err = freeTx(ctx, tx, workspace); err != nil {
			return err
		}
		for _, id := range data {
			if err := dropTx(ctx, tx, workspace, id, uploadLife); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("free blobs: %w", err)
	}
	return n, nil
}

// remove deletes bytes that have expired, from their store and then their row.
func (s *Service) remove(ctx context.Context, workspace ids.ID) (n int, err error) {
	var expired []stored
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		expired, err = expiredTx(ctx, tx, workspace, slices.Collect(maps.Keys(s.stores)))
		return err
	})
	for _, one := range expired {
		if err == nil {
			err = s.stores[one.store].Remove(ctx, Content{Workspace: workspace, ID: one.id})
		}
		if err == nil {
			err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error { return deleteTx(ctx, tx, workspace, one.id) })
		}
		if err != nil {
			break
		}
		n++
	}
	if err != nil {
		return n, fmt.Errorf("remove expired bytes: %w", err)
	}
	return n, nil
}
