package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs/secrets"
	"fleetboard/internal/tenancy"
)

// KeepKey takes the key of a request that changes many jobs, each by itself, and
// reports whether the same request came before. IdempotencyKeyReused where another
// one did.
func (s *Service) KeepKey(ctx context.Context, who tenancy.Principal, from Origin) (known bool, err error) {
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		_, known, err = takeKeyTx(ctx, tx, s.Secrets, who.Workspace, from, []ids.ID{})
		return err
	})
	return known, err
}

// OnceTx reports whether a job is changed for the first time by the request with
// this key; it has not changed the job where this transaction is rolled back.
func OnceTx(ctx context.Context, tx db.Tx, workspace ids.ID, key string, job ids.ID) (bool, error) {
	sum := sha256.Sum256([]byte(key + "\n" + job.String()))
	taken, err := q.IdempotentRequestTake(ctx, tx, dbsqlc.IdempotentRequestTakeParams{WorkspaceID: workspace,
		Key: "job:" + hex.EncodeToString(sum[:]), Digest: sum[:], JobIds: []ids.ID{job}})
	if err != nil {
		return false, fmt.Errorf("take idempotency key of job: %w", err)
	}
	return taken == 1, nil
}

// takeKeyTx takes the key of a request for jobs, or gives the jobs for which the
// same request took it before.
func takeKeyTx(ctx context.Context, tx db.Tx, v *secrets.Service, workspace ids.ID, from Origin, list []ids.ID) (
	first []ids.ID, known bool, err error,
) {
	// What was asked for may hold secrets, which could be found from a plain digest.
	digests := v.Digests(from.Digest)
	taken, err := q.IdempotentRequestTake(ctx, tx, dbsqlc.IdempotentRequestTakeParams{
		WorkspaceID: workspace, Key: from.Key, Digest: digests[0], JobIds: list})
	if err != nil {
		return nil, false, fmt.Errorf("take idempotency key: %w", err)
	}
	if taken == 1 {
		return nil, false, nil
	}
	found, err := q.IdempotentRequestGet(ctx, tx, dbsqlc.IdempotentRequestGetParams{WorkspaceID: workspace, Key: from.Key})
	if err != nil {
		return nil, false, fmt.Errorf("read idempotency key: %w", err)
	}
	if !slices.ContainsFunc(digests, func(d []byte) bool { return bytes.Equal(found.Digest, d) }) {
		return nil, false, fault.New(fault.IdempotencyKeyReused,
			"This idempotency key came with another request within the last day. Use a new one.")
	}
	return found.JobIds, true, nil
}
