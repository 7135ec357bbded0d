package witness

import (
	"context"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// headTx returns the number of the oldest transaction that still runs.
func headTx(ctx context.Context, tx db.Tx) (string, error) { return q.EventHead(ctx, tx) }

// dueTx adds the logs that have events which no block covers yet.
func dueTx(ctx context.Context, tx db.Tx, due map[ids.ID]bool) error {
	list, err := q.LogSealDue(ctx, tx)
	for _, workspace := range list {
		due[workspace] = true
	}
	return err
}

// tailTx reads what follows a place, oldest first, at most limit events, and the place after them.
func tailTx(ctx context.Context, tx db.Tx, workspace ids.ID, after place, limit int) ([]Event, place, error) {
	rows, err := q.WitnessTail(ctx, tx, workspace, after.xid, after.id, limit)
	list := make([]Event, 0, len(rows))
	for _, r := range rows {
		list = append(list, Event{ID: r.ID, At: r.At, Type: eventlog.Type(r.Type), Job: r.JobID, Key: r.JobKey})
		after = place{r.Xid, r.ID}
	}
	return list, after, err
}

// followsTx reports whether a transaction that still runs keeps events back.
func followsTx(ctx context.Context, tx db.Tx, workspace ids.ID, after place) (bool, error) {
	return q.EventFollows(ctx, tx, workspace, after.xid, after.id)
}

// presentTx returns which of some events are there, and since when.
func presentTx(ctx context.Context, tx db.Tx, workspace ids.ID, events []int64) (map[int64]time.Time, error) {
	rows, err := q.WitnessPresent(ctx, tx, workspace, events)
	present := make(map[int64]time.Time, len(rows))
	for _, r := range rows {
		present[r.ID] = r.At
	}
	return present, err
}

// keysTx returns the keys of the jobs that are there.
func keysTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[ids.ID]string, error) {
	rows, err := q.WitnessKeys(ctx, tx, workspace, jobs)
	keys := make(map[ids.ID]string, len(rows))
	for _, r := range rows {
		keys[r.ID] = r.Key
	}
	return keys, err
}

// number reads the number of a transaction, which PostgreSQL wrote.
func number(xid string) uint64 {
	n, err := strconv.ParseUint(xid, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
