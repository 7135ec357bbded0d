package eventlog_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// A page of the log reads its own events and their jobs and nothing else, whatever was
// counted when: on the first day of a server PostgreSQL has counted neither.
func TestAPageOfTheLogIsReadByItsOwnRows(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	dbfactory.Exec(t, d, `ALTER TABLE event SET (autovacuum_enabled = false)`)
	dbfactory.Exec(t, d, `ALTER TABLE job SET (autovacuum_enabled = false)`)
	for range 10 { // plans that are kept are made when there is nothing
		assertPagesAreShort(t, d, workspace, "nothing yet")
	}
	dbfactory.Exec(t, d, `ANALYZE`)
	dbfactory.Exec(t, d, `INSERT INTO lane (workspace_id, product_id, needs, digest)
		SELECT workspace_id, id, '{}', sha256('x') FROM product WHERE workspace_id = $1`, workspace)
	dbfactory.Exec(t, d, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
		SELECT l.workspace_id, gen_random_uuid(), 'FB-' || n, 'work', l.product_id, l.id, 'ready', 'Mara'
		FROM lane l, generate_series(1, 20000) n WHERE l.workspace_id = $1`, workspace)
	for _, when := range []struct{ what, sql string }{
		{"counted when both were empty", `INSERT INTO event (workspace_id, xid, type, job_id, actor, actor_kind)
			SELECT j.workspace_id, (row_number() OVER () / 100 + 1)::text::xid8, 'job.created', j.id, 'Mara', 'person' FROM job j`},
		{"only jobs were counted", `ANALYZE job`},
		{"counted", `ANALYZE`},
		{"never counted", `DELETE FROM pg_statistic; UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname IN ('event', 'job')
			OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid IN ('event'::regclass, 'job'::regclass))`},
	} {
		dbfactory.Exec(t, d, when.sql)
		for range 3 {
			assertPagesAreShort(t, d, workspace, when.what)
		}
	}
}

// assertPagesAreShort reads 50 events in each of the ways in which the log is read on.
func assertPagesAreShort(t *testing.T, d *db.DB, workspace ids.ID, when string) {
	t.Helper()
	q := dbsqlc.New()
	for what, read := range map[string]func(tx db.Tx) error{
		"tail": func(tx db.Tx) error {
			_, err := q.EventTail(t.Context(), tx, workspace, "17", 0, 50)
			return err
		},
		"unusual events of the tail": func(tx db.Tx) error {
			_, err := q.EventTailUnusual(t.Context(), tx, dbsqlc.EventTailUnusualParams{WorkspaceID: workspace, AfterXid: "17",
				Usual: []string{"job.created"}, MaxScan: 50, MaxRows: 50})
			return err
		},
		"jobs of the tail": func(tx db.Tx) error {
			_, err := q.EventTailJobs(t.Context(), tx, dbsqlc.EventTailJobsParams{WorkspaceID: workspace, AfterXid: "17",
				Fields: []string{"title"}, MaxRows: 50})
			return err
		},
		"search": func(tx db.Tx) error {
			_, err := q.EventScan(t.Context(), tx, dbsqlc.EventScanParams{Actors: []string{}, WorkspaceID: workspace, Types: []string{"job.%"},
				Settings: []string{}, AfterXid: "17", MaxScan: 50, MaxRows: 50})
			return err
		},
		"search back": func(tx db.Tx) error {
			_, err := q.EventScanBack(t.Context(), tx, dbsqlc.EventScanBackParams{Actors: []string{}, WorkspaceID: workspace, Types: []string{},
				Settings: []string{}, FromXid: "0", BeforeXid: "17", MaxScan: 50, MaxRows: 50})
			return err
		},
		"seal": func(tx db.Tx) error {
			_, err := q.LogSealEvents(t.Context(), tx, dbsqlc.LogSealEventsParams{WorkspaceID: workspace, AfterXid: "17",
				ToXid: "9000000", MaxRows: 50})
			return err
		},
	} {
		for name, n := range dbtest.RowsRead(t, d, workspace, read, "event", "job") {
			if n > 200 {
				t.Errorf("%s: %s reads %d rows of %s for 50 events", when, what, n, name)
			}
		}
	}
}
