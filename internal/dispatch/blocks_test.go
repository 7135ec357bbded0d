package dispatch_test

import (
	"errors"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// fetched is how many blocks of tables and indexes the transaction has looked at.
const fetched = `SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid))::bigint FROM pg_class c
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i')`

var errUndone = errors.New("undone")

// grown is a database that was planned for when it was new, and which autovacuum has
// not counted since.
const grown = "the plans of a new database, which has grown"

// What a claim and a completion ask for looks at a few blocks for each job, as the
// statements are run and planned in a run of many, whatever the statistics say. A
// plan that walks a lane or a table looks at hundreds.
func TestBlocksOfAJob(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace := dbfactory.Workspace(t, d)
	look := func(when string) { assertBlocks(t, d, workspace, when) }
	dbfactory.Exec(t, d, noVacuum)
	fill(t, d, workspace, 20)
	dbfactory.Exec(t, d, `DELETE FROM attempt`)
	dbfactory.Exec(t, d, `VACUUM ANALYZE`)
	look("the plans of a new database")
	fill(t, d, workspace, crowd)
	look(grown)
	dbfactory.Exec(t, d, `ANALYZE`)
	look("fresh statistics")
	forgetStatistics(t, d)
	look("no statistics")
	believeNoLeases(t, d)
	look("no leases a moment ago")
}

func assertBlocks(t *testing.T, d *db.DB, workspace ids.ID, when string) {
	t.Helper()
	ctx, q := t.Context(), dbsqlc.New()
	some := func(sql string) ids.ID {
		id, _ := ids.Parse(dbfactory.Text(t, d, sql, workspace))
		return id
	}
	lane := int64(dbfactory.Int(t, d, `SELECT min(id) FROM lane WHERE workspace_id = $1`, workspace))
	ready := some(`SELECT job_id::text FROM job_ready WHERE workspace_id = $1 ORDER BY job_id LIMIT 1`)
	running := some(`SELECT min(job_id::text) FROM job_lease WHERE workspace_id = $1`)
	waiting := some(`SELECT min(id::text) FROM job WHERE workspace_id = $1 AND status = 'waiting' AND key NOT LIKE 'waiting-1-%'`)
	dbfactory.Exec(t, d, `INSERT INTO job_text (workspace_id, job_id) SELECT $1, unnest(ARRAY[$2, $3]::uuid[]) ON CONFLICT DO NOTHING`,
		workspace, running, waiting)
	for name, c := range map[string]struct {
		most  int64
		reads bool // it may be run twice
		do    func(tx db.Tx) (rows int, err error)
	}{
		"take from a lane": {40, false, func(tx db.Tx) (int, error) {
			rows, err := q.ReadyTake(ctx, tx, dbsqlc.ReadyTakeParams{WorkspaceID: workspace, LaneID: lane, FromPriority: 11, MaxRows: 1})
			return len(rows), err
		}},
		"take one job": {30, false, func(tx db.Tx) (int, error) {
			var n int64
			err := tx.QueryRow(ctx, `SELECT lane_id FROM job_ready WHERE workspace_id = $1 AND job_id = $2`, workspace, ready).Scan(&lane)
			if err == nil {
				n, err = q.ReadyTakeOne(ctx, tx, workspace, ready, lane)
			}
			return int(n), err
		}},
		"read a job": {30, true, func(tx db.Tx) (int, error) {
			rows, err := q.JobFullByIDs(ctx, tx, []ids.ID{running}, workspace)
			return len(rows), err
		}},
		"read a job that waits for another": {30, true, func(tx db.Tx) (int, error) {
			rows, err := q.JobFullByIDs(ctx, tx, []ids.ID{waiting}, workspace)
			return len(rows), err
		}},
	} {
		err := d.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			var before, after int64
			// The first time the plan is made too, which looks at every index.
			if c.reads {
				if _, err := c.do(tx); err != nil {
					return err
				}
			}
			if err := tx.QueryRow(ctx, fetched).Scan(&before); err != nil {
				return err
			}
			n, err := c.do(tx)
			if err != nil {
				return err
			}
			if n != 1 {
				t.Errorf("%s, %s: %d rows", name, when, n)
			}
			if err := tx.QueryRow(ctx, fetched).Scan(&after); err != nil {
				return err
			}
			// To take many is planned for a table of a few blocks, until autovacuum counts.
			if after-before > c.most && (name != "take from a lane" || when != grown) {
				t.Errorf("%s, %s: %d blocks were looked at; want at most %d", name, when, after-before, c.most)
			}
			return errUndone
		}, db.NoWait)
		if !errors.Is(err, errUndone) {
			t.Fatalf("%s, %s: %v", name, when, err)
		}
	}
}
