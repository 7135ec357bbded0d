package eventlog_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// job makes a job that has no events.
func job(t *testing.T, d *db.DB, workspace ids.ID) ids.ID {
	t.Helper()
	id := ids.New()
	dbfactory.Exec(t, d, `WITH at AS (SELECT workspace_id, id FROM product WHERE workspace_id = $1), way AS (
			INSERT INTO lane (workspace_id, needs, digest, product_id) SELECT workspace_id, '{}', '', id FROM at
			ON CONFLICT (workspace_id, digest) DO UPDATE SET factory = '' RETURNING id)
		INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, created_by)
		SELECT $1, $2::uuid, 'J-' || right($2::uuid::text, 12), 'A job', at.id, way.id, 'blocked', 'test' FROM at, way`, workspace, id)
	return id
}

// write appends events of a job, each in a transaction of its own: the field
// "step" goes from one number to the next.
func write(t *testing.T, d *db.DB, workspace, job ids.ID, n int) {
	t.Helper()
	for i := range n {
		epoch := int64(i/10 + 1)
		e := eventlog.Event{Type: eventlog.Type([]string{"job.progressed", "job.edited"}[i%2]), JobID: &job, Actor: tenancy.Actor{Kind: tenancy.KindSystem, Name: "test"},
			Epoch: &epoch, Changes: []eventlog.Change{{Field: "step", Old: i, New: i + 1}, {Field: fmt.Sprintf("once%d", i), New: i}}}
		appendTo(t, d, workspace, e)
	}
}

func appendTo(t *testing.T, d *db.DB, workspace ids.ID, e eventlog.Event) {
	t.Helper()
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		return eventlog.AppendTx(t.Context(), tx, workspace, e)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// settle gives the events transactions that have long ended, so that no other
// test's transaction keeps them back. Their order stays.
func settle(t *testing.T, d *db.DB) {
	t.Helper()
	dbfactory.Exec(t, d, `UPDATE event SET xid = (id / 3 + 1)::text::xid8`)
}

// bulk writes n settled events with a type of their own number, a hundred to each transaction.
func bulk(t *testing.T, d *db.DB, workspace ids.ID, n int) {
	t.Helper()
	conn := dbtest.Owner(t, d)
	_, err := conn.Exec(t.Context(), `INSERT INTO event (workspace_id, xid, type, actor, actor_kind)
		SELECT $1, (g / 100 + 1)::text::xid8, 'bulk.' || g, 'test', 'system' FROM generate_series(1, $2::int) g`, workspace, n)
	if err == nil {
		_, err = conn.Exec(t.Context(), `ANALYZE event`)
	}
	if err != nil {
		t.Fatal(err)
	}
}
