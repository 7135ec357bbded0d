package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// The log's page of a quiet workspace does not read past the lines of busy ones.
func TestThePlanOfTheLog(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	quiet, busy := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	for ws, n := range map[any]int{quiet: 3, nil: 4, busy: 20_000} {
		dbfactory.Exec(t, d, `INSERT INTO coordinator_log (workspace_id, instance_id, term, level, message)
			SELECT $1::uuid, 'x', 1, 'INFO', 'line' FROM generate_series(1, $2)`, ws, n)
	}
	newest := dbsqlc.CoordinatorLogListParams{WorkspaceID: quiet, Before: 1 << 60, Levels: levels, MaxScan: 101, MaxRows: 100}
	for _, when := range []string{"no statistics", "fresh statistics"} {
		var plan strings.Builder
		list := 0
		err := d.In(t.Context(), db.Workspace(quiet), func(tx db.Tx) error {
			rows, err := q.CoordinatorLogList(t.Context(), tx, newest)
			list = len(rows)
			if err != nil {
				return err
			}
			return explain(t.Context(), tx, &plan, func(asked dbsqlc.DBTX) error {
				_, err := q.CoordinatorLogList(t.Context(), asked, newest)
				return err
			})
		})
		if err != nil || list != 7 {
			t.Errorf("%s: %d lines, %v; want 7", when, list, err)
		}
		if text := plan.String(); strings.Contains(text, "Seq Scan on coordinator_log") || strings.Contains(text, "Rows Removed by Filter: ") {
			t.Errorf("%s: lines of others are read:\n%s", when, text)
		}
		dbfactory.Exec(t, d, `ANALYZE coordinator_log`)
	}
}

// explain writes down the plan of a query that it runs.
func explain(ctx context.Context, tx db.Tx, into *strings.Builder, ask func(dbsqlc.DBTX) error) error {
	kept := &question{}
	if err := ask(kept); !errors.Is(err, errKept) {
		return err
	}
	rows, err := tx.Query(ctx, "EXPLAIN (ANALYZE) "+kept.sql, kept.args...)
	if err != nil {
		return err
	}
	var line string
	_, err = pgx.ForEachRow(rows, []any{&line}, func() error { into.WriteString(line + "\n"); return nil })
	return err
}

// question keeps a query instead of running it.
type question struct {
	dbsqlc.DBTX
	sql  string
	args []any
}

var errKept = errors.New("kept")

// Query keeps the query.
func (k *question) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	k.sql, k.args = sql, args
	return nil, errKept
}
