package blobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// freeTx deletes the blobs to which nothing has referred for longer than the grace, and
// returns how many it looked at and which bytes lost their name. Whoever refers to one of
// them at this moment has it locked, or waits and finds it gone.
func freeTx(ctx context.Context, tx db.Tx, workspace ids.ID) (n int, data []ids.ID, err error) {
	list, err := q.BlobFreeLock(ctx, tx, workspace, Grace.Seconds(), collectBlobs)
	if err != nil || len(list) == 0 {
		return 0, nil, err
	}
	if err := q.BlobFreeNot(ctx, tx, workspace, list); err != nil {
		return 0, nil, err
	}
	data, err = q.BlobDelete(ctx, tx, workspace, list)
	return len(list), data, err
}

// expiredTx lists bytes of some stores that have expired. No upload goes on with them.
func expiredTx(ctx context.Context, tx db.Tx, workspace ids.ID, stores []string) ([]stored, error) {
	rows, err := q.BlobDataExpired(ctx, tx, workspace, stores, collectData)
	list := make([]stored, 0, len(rows))
	for _, r := range rows {
		list = append(list, stored{id: r.ID, store: r.Store})
	}
	return list, err
}

// deleteTx deletes the row of bytes that have expired, and gives their space back.
func deleteTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) error {
	counted, err := q.BlobDataDelete(ctx, tx, workspace, id)
	if err != nil || len(counted) == 0 {
		return err
	}
	return giveTx(ctx, tx, workspace, counted[0])
}

// sealedByTx lists bytes whose key one of the workspace's keys has sealed, after an id.
func sealedByTx(ctx context.Context, tx db.Tx, workspace ids.ID, key int, after ids.ID) ([]stored, error) {
	rows, err := q.BlobSealedBy(ctx, tx, workspace, &key, after, resealBatch)
	list := make([]stored, 0, len(rows))
	for _, r := range rows {
		list = append(list, stored{id: r.ID, key: &key, sealedKey: r.SealedKey})
	}
	return list, err
}

// resealTx puts the key of bytes under another key of the workspace, unless somebody else
// has just done it.
func resealTx(ctx context.Context, tx db.Tx, workspace ids.ID, of stored, key int, sealed []byte) error {
	n, err := q.BlobReseal(ctx, tx, dbsqlc.BlobResealParams{WorkspaceID: workspace, ID: of.id, KeyID: &key, SealedKey: sealed,
		OldSealedKey: of.sealedKey})
	if err != nil || n == 0 {
		return err
	}
	return q.VaultKeyMoved(ctx, tx, n, workspace, *of.key)
}
