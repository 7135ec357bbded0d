package secrets

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// sealed is a value as it is kept.
type sealed struct {
	job   ids.ID
	name  string
	key   int
	bytes []byte
}

// listKeys returns the keys that values were sealed with.
func listKeys(list []sealed) []int {
	keys := make([]int, 0, len(list))
	for _, v := range list {
		keys = append(keys, v.key)
	}
	return keys
}

func insertTx(ctx context.Context, tx db.Tx, workspace ids.ID, key int, list []sealed) error {
	p := dbsqlc.JobSecretInsertParams{WorkspaceID: workspace, KeyID: key}
	for _, v := range list {
		p.JobIds, p.Names, p.Sealed = append(p.JobIds, v.job), append(p.Names, v.name), append(p.Sealed, v.bytes)
	}
	return q.JobSecretInsert(ctx, tx, p)
}

func ofJobsTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) ([]sealed, error) {
	rows, err := q.JobSecretOfJobs(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	list := make([]sealed, 0, len(rows))
	for _, r := range rows {
		list = append(list, sealed{job: r.JobID, name: r.Name, key: r.KeyID, bytes: r.Sealed})
	}
	return list, nil
}

// heldTx reads the values of the jobs that agents hold; agents are in the same order.
func heldTx(ctx context.Context, tx db.Tx, workspace ids.ID, of Holders) (list []sealed, agents []ids.ID, err error) {
	rows, err := q.JobSecretHeld(ctx, tx, workspace, of.Agents, of.Factories)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		list, agents = append(list, sealed{job: r.JobID, name: r.Name, key: r.KeyID, bytes: r.Sealed}), append(agents, r.AgentID)
	}
	return list, agents, nil
}

// generationsTx reads the keys of a workspace, the newest first; known says which of
// the server's keys this process has.
func generationsTx(ctx context.Context, tx db.Tx, workspace ids.ID, known func(serverKey []byte) bool) ([]Key, error) {
	rows, err := q.VaultKeyList(ctx, tx, manySecrets+1, workspace, maxGenerations)
	if err != nil {
		return nil, err
	}
	var list []Key
	for i, r := range rows {
		list = append(list, Key{Generation: r.ID, MadeAt: r.MadeAt, RetiredAt: r.RetiredAt, Writes: i == 0,
			Values: min(r.Sealed, manySecrets), More: r.Sealed > manySecrets, Moved: int(r.Moved),
			Locked: !known(r.ServerKey), Fresh: r.Now.Sub(r.MadeAt) < time.Hour})
	}
	return list, nil
}

// pageTx reads the next values that a key has sealed.
func pageTx(ctx context.Context, tx db.Tx, workspace ids.ID, key int, after sealed) ([]sealed, error) {
	rows, err := q.JobSecretPage(ctx, tx, dbsqlc.JobSecretPageParams{WorkspaceID: workspace, KeyID: key,
		AfterJob: after.job, AfterName: after.name, MaxRows: resealBatch})
	if err != nil {
		return nil, err
	}
	list := make([]sealed, 0, len(rows))
	for _, r := range rows {
		list = append(list, sealed{job: r.JobID, name: r.Name, key: key, bytes: r.Sealed})
	}
	return list, nil
}

// moveTx replaces the old values that are still as they were read, and returns how many.
// old and fresh are of the same places, each list of one key.
func moveTx(ctx context.Context, tx db.Tx, workspace ids.ID, old, fresh []sealed) (int, error) {
	p := dbsqlc.JobSecretResealParams{WorkspaceID: workspace, KeyID: fresh[0].key, OldKeyID: old[0].key}
	for i, v := range old {
		p.JobIds, p.Names, p.OldSealed = append(p.JobIds, v.job), append(p.Names, v.name), append(p.OldSealed, v.bytes)
		p.Sealed = append(p.Sealed, fresh[i].bytes)
	}
	moved, err := q.JobSecretReseal(ctx, tx, p)
	if err != nil || moved == 0 {
		return 0, err
	}
	err = q.VaultKeyMoved(ctx, tx, moved, workspace, p.OldKeyID)
	return int(moved), err
}

// retireTx waits for whoever writes with a key, and retires it unless a value is left
// or it was retired before. moved is how many values later keys took over.
func retireTx(ctx context.Context, tx db.Tx, workspace ids.ID, key int) (moved int64, retired bool, err error) {
	locked, err := q.VaultKeyLock(ctx, tx, workspace, key)
	if err != nil || len(locked) == 0 {
		return 0, false, err
	}
	left, err := q.JobSecretLeft(ctx, tx, workspace, key)
	if err != nil || len(left) > 0 {
		return 0, false, err
	}
	n, err := q.VaultKeyRetire(ctx, tx, workspace, key)
	return locked[0].Moved, n > 0, err
}
