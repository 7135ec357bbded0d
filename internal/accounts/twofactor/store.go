package twofactor

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

func beginTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte) (bool, error) {
	n, err := q.TotpBegin(ctx, tx, account, sealed)
	return n > 0, err
}

func pendingTotpTx(ctx context.Context, tx db.Tx, account ids.ID) ([]byte, bool, error) {
	sealed, err := q.TotpPending(ctx, tx, account)
	ok, err := db.Found(err)
	return sealed, ok, err
}

func confirmTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte, step int64) (bool, error) {
	n, err := q.TotpConfirm(ctx, tx, step, account, sealed)
	return n > 0, err
}

func totpTx(ctx context.Context, tx db.Tx, account ids.ID) ([]byte, bool, error) {
	sealed, err := q.TotpOf(ctx, tx, account)
	ok, err := db.Found(err)
	return sealed, ok, err
}

func useTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte, step int64) (bool, error) {
	n, err := q.TotpUse(ctx, tx, step, account, sealed)
	return n > 0, err
}

// resealTotpTx does nothing where another transaction has done it meanwhile.
func resealTotpTx(ctx context.Context, tx db.Tx, account ids.ID, sealed, anew []byte) error {
	return q.TotpReseal(ctx, tx, anew, account, sealed)
}

// dropTotpTx takes the second factor and its recovery codes away.
func dropTotpTx(ctx context.Context, tx db.Tx, account ids.ID) (bool, error) {
	n, err := q.TotpDelete(ctx, tx, account)
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.RecoveryCodeDelete(ctx, tx, account)
}

func useRecoveryCodeTx(ctx context.Context, tx db.Tx, account ids.ID, hash []byte) (bool, error) {
	n, err := q.RecoveryCodeUse(ctx, tx, account, hash)
	return n > 0, err
}

func replaceRecoveryCodesTx(ctx context.Context, tx db.Tx, account ids.ID, hashes [][]byte) error {
	if err := q.RecoveryCodeDelete(ctx, tx, account); err != nil {
		return err
	}
	return q.RecoveryCodeInsert(ctx, tx, account, hashes)
}
