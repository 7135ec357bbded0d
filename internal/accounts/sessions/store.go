package sessions

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// findTx also says whether the session was last seen so long ago that this is
// to be noted.
func findTx(ctx context.Context, tx db.Tx, hash []byte) (data []byte, found, unseen bool, err error) {
	row, err := q.SessionFind(ctx, tx, hash, idle.Seconds())
	found, err = db.Found(err)
	return row.Data, found, row.SeenLongAgo, err
}

func commitTx(ctx context.Context, tx db.Tx, s record) error {
	_, err := q.SessionCommit(ctx, tx, dbsqlc.SessionCommitParams{
		TokenHash: s.hash,
		AccountID: s.account,
		Epoch:     s.epoch,
		Half:      s.half,
		Data:      s.data,
		IP:        s.address,
		UserAgent: s.userAgent,
		ExpiresAt: s.expires,
	})
	return err
}

// endTx returns false for a session that was over already.
func endTx(ctx context.Context, tx db.Tx, hash []byte) (bool, error) {
	n, err := q.SessionEnd(ctx, tx, hash)
	return n > 0, err
}

func listTx(ctx context.Context, tx db.Tx, account ids.ID, this []byte) ([]Session, error) {
	rows, err := q.SessionList(ctx, tx, this, &account, idle.Seconds())
	return db.Map(rows, err, func(row dbsqlc.SessionListRow) Session { return Session(row) })
}

// EndOneTx ends a session of an account; false where it is over already.
func EndOneTx(ctx context.Context, tx db.Tx, account, session ids.ID) (bool, error) {
	n, err := q.SessionEndOne(ctx, tx, session, &account)
	return n > 0, err
}

// EndOthersTx ends all of an account but one; nil spares none. It counts
// those that could still be used.
func EndOthersTx(ctx context.Context, tx db.Tx, account ids.ID, spared []byte) (int, error) {
	if spared == nil {
		spared = []byte{}
	}
	n, err := q.SessionEndOthers(ctx, tx, idle.Seconds(), &account, spared)
	return int(n), err
}

// EndEpochTx begins a new epoch of an account: sessions of log-ins that are under
// way open nothing.
func EndEpochTx(ctx context.Context, tx db.Tx, account ids.ID) error {
	return q.AccountEndSessions(ctx, tx, account)
}

// EpochTx returns the epoch of sessions that begin now.
func EpochTx(ctx context.Context, tx db.Tx, account ids.ID) (int64, error) {
	return q.AccountSessionEpoch(ctx, tx, account)
}

// ExpireTx deletes sessions that are over, at most so many.
func ExpireTx(ctx context.Context, tx db.Tx, rows int) error {
	_, err := q.SessionExpire(ctx, tx, rows)
	return err
}
