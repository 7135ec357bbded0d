package eventlog_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// planned keeps the plan of each query that goes through it.
type planned struct {
	db.Tx
	t    *testing.T
	plan *string
}

func (p planned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := p.Tx.Query(ctx, "EXPLAIN "+sql, args...)
	if err != nil {
		p.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Fatal(err)
	}
	*p.plan = strings.Join(lines, "\n")
	return p.Tx.Query(ctx, sql, args...)
}

// The log is read along an index from a place on: nothing before the place is
// touched, and of what follows only as much as the statement is to look at.
func TestTheLogIsReadAlongItsIndex(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	dbfactory.AnyFacts(t, d)
	workspace := dbfactory.Workspace(t, d)
	bulk(t, d, workspace, 20_000)
	q := dbsqlc.New()
	for what, run := range map[string]func(tx db.Tx) error{
		"tail": func(tx db.Tx) error {
			_, err := q.EventTail(t.Context(), tx, workspace, "17", 1700, 50)
			return err
		},
		"tail of some types": func(tx db.Tx) error {
			_, err := q.EventScan(t.Context(), tx, dbsqlc.EventScanParams{Actors: []string{}, WorkspaceID: workspace, Types: []string{"bulk.%"},
				Settings: []string{}, AfterXid: "17", AfterID: 1700, MaxScan: 500, MaxRows: 50})
			return err
		},
		"tail without settings": func(tx db.Tx) error {
			_, err := q.EventScan(t.Context(), tx, dbsqlc.EventScanParams{Actors: []string{}, WorkspaceID: workspace, Types: []string{},
				Settings: []string{"member.%", "token.%"}, AfterXid: "17", AfterID: 1700, MaxScan: 101, MaxRows: 50})
			return err
		},
		"older": func(tx db.Tx) error {
			_, err := q.EventScanBack(t.Context(), tx, dbsqlc.EventScanBackParams{Actors: []string{}, FromXid: "0", WorkspaceID: workspace, Types: []string{},
				Settings: []string{}, BeforeXid: "170", BeforeID: 17000, MaxScan: 51, MaxRows: 50})
			return err
		},
	} {
		var plan string
		err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error { return run(planned{tx, t, &plan}) })
		if err != nil {
			t.Fatal(err)
		}
		walk := strings.Contains(plan, "using event_tail") && strings.Contains(plan, "Index Cond: ((workspace_id = ") &&
			strings.Contains(plan, "(ROW(xid, id) ")
		if !walk || strings.Contains(plan, "Filter: ((ROW(") {
			t.Errorf("%s:\n%s", what, plan)
		}
	}
}
