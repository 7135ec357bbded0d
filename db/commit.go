package db

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// commitTimeout bounds the wait for a COMMIT's answer. The caller's context
// does not: an answer that is not awaited leaves the outcome unknown.
const commitTimeout = 5 * time.Second

var (
	errCommitting = errors.New("a COMMIT is under way and must not be cancelled")
	errCommitWarn = errors.New("the commit was confirmed with a warning")
)

// commitGuard keeps a COMMIT of one connection from being cancelled. PostgreSQL that waits for a
// standby answers a cancelled COMMIT with success and a warning, and shows everybody rows that the
// next failover loses. Left alone it shows them only when a standby has them.
type commitGuard struct {
	// committing is set from a COMMIT on until its answer is there.
	committing atomic.Bool
	// warned is set when PostgreSQL warned in answer to a COMMIT.
	warned atomic.Bool
}

const guardKey = "fleetboard.commit"

// guardCommits gives a connection that is about to be made its guard. pgx dials once more to
// cancel what a connection was in the middle of when it broke or was given up.
func guardCommits(_ context.Context, cfg *pgx.ConnConfig) error {
	guard, dial, notice := &commitGuard{}, cfg.DialFunc, cfg.OnNotice
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if guard.committing.Load() {
			return nil, errCommitting
		}
		return dial(ctx, network, address)
	}
	cfg.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if guard.committing.Load() && n.SeverityUnlocalized == "WARNING" {
			guard.warned.Store(true)
		}
		if notice != nil {
			notice(conn, n)
		}
	}
	cfg.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[guardKey] = guard
		return nil
	}
	return nil
}

// commitOn ends tx on its connection and distinguishes a refusal by the server, after which
// nothing was saved, from silence, after which nobody knows. A warning says that a standby may
// lack what was saved: that is as good as silence.
func commitOn(ctx context.Context, conn *pgxpool.Conn, tx pgx.Tx) error {
	guard := conn.Conn().PgConn().CustomData()[guardKey].(*commitGuard) // set by guardCommits
	guard.committing.Store(true)
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	socket := conn.Conn().PgConn().Conn()
	err := tx.Commit(limited)
	if conn.Conn().IsClosed() {
		_ = socket.Close() // nobody awaits the answer any more
	} else {
		guard.committing.Store(false)
	}
	switch {
	case err == nil && guard.warned.Swap(false):
		return outcomeUnknown(errCommitWarn)
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrTxCommitRollback) || refusedByServer(err):
		return Fault(err)
	default:
		return outcomeUnknown(err)
	}
}
