package db

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// lockNotAvailable is PostgreSQL's code for a NOWAIT lock that somebody holds.
const lockNotAvailable = "55P03"

// IsLocked reports whether a statement gave up at once because another
// transaction holds a row that it asked for with NOWAIT. The whole transaction
// may be run again.
func IsLocked(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == lockNotAvailable
}
