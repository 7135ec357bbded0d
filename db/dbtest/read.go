package dbtest

import (
	"cmp"
	"errors"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// rowsRead is what the session has read of each table and of each of their indexes.
const rowsRead = `SELECT coalesce(jsonb_object_agg(c.relname, pg_stat_get_xact_tuples_returned(c.oid)), '{}') FROM pg_class c
	WHERE c.relname = ANY($1::text[]) OR c.oid IN (SELECT i.indexrelid FROM pg_index i JOIN pg_class o ON o.oid = i.indrelid
		WHERE o.relname = ANY($1::text[]))`

// RowsRead gives how many rows a transaction reads of the tables and of their indexes, each
// by its name. What it does is undone.
func RowsRead(t testing.TB, d *db.DB, workspace ids.ID, do func(tx db.Tx) error, tables ...string) map[string]int64 {
	t.Helper()
	var before, after map[string]int64
	undo := errors.New("undo")
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		count := func(n *map[string]int64) error { return tx.QueryRow(t.Context(), rowsRead, tables).Scan(n) }
		if err := cmp.Or(count(&before), do(tx)); err != nil {
			return err
		}
		return cmp.Or(count(&after), undo)
	}, db.ByIndex)
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
	for name := range after {
		after[name] -= before[name]
	}
	return after
}
