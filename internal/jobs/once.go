package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"fleetboard/db"
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
	return takeRequestTx(ctx, tx, workspace, "job:"+hex.EncodeToString(sum[:]), sum[:], []ids.ID{job})
}

// takeKeyTx takes the key of a request for jobs, or gives the jobs for which the
// same request took it before.
func takeKeyTx(ctx context.Context, tx db.Tx, v *secrets.Service, workspace ids.ID, from Origin, list []ids.ID) (
	first []ids.ID, known bool, err error,
) {
	// What was asked for may hold secrets, which could be found from a plain digest.
	digests := v.Digests(from.Digest)
	taken, err := takeRequestTx(ctx, tx, workspace, from.Key, digests[0], list)
	if err != nil || taken {
		return nil, false, err
	}
	digest, first, err := requestTx(ctx, tx, workspace, from.Key)
	if err != nil {
		return nil, false, err
	}
	if !slices.ContainsFunc(digests, func(d []byte) bool { return bytes.Equal(digest, d) }) {
		return nil, false, fault.New(fault.IdempotencyKeyReused,
			"This idempotency key came with another request within the last day. Use a new one.")
	}
	return first, true, nil
}
