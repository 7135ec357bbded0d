package idempotency

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// takeTx writes a request with its answer, and waits for one with the same key that is under
// way; false where there was one.
func takeTx(ctx context.Context, tx db.Tx, who tenancy.Principal, k *Key, answer []byte) (bool, error) {
	rows, err := q.IdempotentRequestTake(ctx, tx, dbsqlc.IdempotentRequestTakeParams{
		WorkspaceID: who.Workspace, Asker: who.Asker(), Key: k.storedName(), Digest: k.Digests[0], Answer: answer})
	if err != nil {
		return false, err
	}
	return rows > 0, nil
}

// answeredTx reads what was requested with a key, and the answer. Fault: Unavailable where it
// became too old at this moment.
func answeredTx(ctx context.Context, tx db.Tx, who tenancy.Principal, k *Key) (digest, answer []byte, err error) {
	found, err := q.IdempotentRequestGet(ctx, tx, who.Workspace, who.Asker(), k.storedName())
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, fault.New(fault.Unavailable, "The same request was handled at this moment. Send it again to read its answer.")
	}
	if err != nil {
		return nil, nil, err
	}
	return found.Digest, found.Answer, nil
}
