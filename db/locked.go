package db

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// timeoutRoutine is where PostgreSQL ends a statement whose lock_timeout is over,
// with the same code as for NOWAIT. Unlike the message it is in no language.
const timeoutRoutine = "ProcessInterrupts"

// IsLocked reports whether a statement gave up at once because another
// transaction holds a row that it asked for with NOWAIT. The whole transaction
// may be run again; one that waited its whole lock_timeout is not meant.
func IsLocked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == stateLockNotAvailable && pg.Routine != timeoutRoutine
}
