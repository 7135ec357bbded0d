package db

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// timeoutRoutine is where PostgreSQL ends a statement whose lock_timeout is over,
// with the same code as for NOWAIT. Unlike the message it is in no language.
const timeoutRoutine = "ProcessInterrupts"

// IsLocked reports whether a statement gave up at once because another
// transaction holds a row that it requested with NOWAIT. The whole transaction
// may be run again; one that waited its whole lock_timeout is not meant.
func IsLocked(err error) bool {
	pg, ok := lockRefusal(err)
	return ok && pg.Routine != timeoutRoutine
}

// IsLockTimeout reports whether a statement waited for a lock for its whole
// lock_timeout.
func IsLockTimeout(err error) bool {
	pg, ok := lockRefusal(err)
	return ok && pg.Routine == timeoutRoutine
}

func lockRefusal(err error) (*pgconn.PgError, bool) {
	var pg *pgconn.PgError
	return pg, errors.As(err, &pg) && pg.Code == stateLockNotAvailable
}
