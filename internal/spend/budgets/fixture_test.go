package budgets_test

import (
	"context"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// testWorkspace is a workspace with an owner.
type testWorkspace struct {
	*budgets.Service

	t     *testing.T
	db    *db.DB
	who   tenancy.Principal
	freed *freed
}

// freed notes which budgets have more left.
type freed struct{ list []ids.ID }

func (f *freed) BudgetsFreed(_ context.Context, _ ids.ID, list []ids.ID) {
	f.list = append(f.list, list...)
}

type quiet struct{}

func (quiet) Publish(...string) {}

func newTestWorkspace(t *testing.T) *testWorkspace {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	f := &freed{}
	return &testWorkspace{Service: budgets.NewService(d, quiet{}, f), t: t, db: d, freed: f,
		who: dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner)}
}

// told returns the budgets that have more left since the last call.
func (w *testWorkspace) told() []ids.ID {
	list := w.freed.list
	w.freed.list = nil
	return list
}

const dollar = spend.Nanos(1_000_000_000)

func dollars(n int) *spend.Nanos {
	m := spend.Nanos(n) * dollar
	return &m
}

// monthly returns a hard budget of the workspace with so many dollars a month.
func monthly(n int, change ...func(*budgets.Input)) budgets.Input {
	in := budgets.Input{Name: "All", Scope: budgets.Workspace, Period: budgets.Month, Timezone: "Europe/Berlin",
		Limits: budgets.Limits{Money: dollars(n)}, Hard: true}
	for _, c := range change {
		c(&in)
	}
	return in
}

func (w *testWorkspace) made(in budgets.Input) budgets.Budget {
	w.t.Helper()
	b, err := w.Create(w.t.Context(), w.who, in)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *testWorkspace) get(id ids.ID) budgets.Budget {
	w.t.Helper()
	b, err := w.Get(w.t.Context(), w.who, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// book reserves, settles and frees by hand, as leases do: amounts of money from one
// account of the present period to another.
func (w *testWorkspace) book(b ids.ID, kind budgets.Kind, from, to budgets.Account, amount spend.Nanos) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `WITH p AS (
			SELECT workspace_id, budget_id, period_start FROM budget_period WHERE budget_id = $1 AND period_start <= now() AND period_end > now()
		), line AS (
			INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos)
			SELECT workspace_id, budget_id, period_start, $2, $3, $4, $5::bigint FROM p
		)
		UPDATE budget_period b SET
			settled_nanos = settled_nanos + CASE WHEN $4 = 'settled' THEN $5::bigint WHEN $3 = 'settled' THEN -$5::bigint ELSE 0 END,
			reserved_nanos = reserved_nanos + CASE WHEN $4 = 'reserved' THEN $5::bigint WHEN $3 = 'reserved' THEN -$5::bigint ELSE 0 END
		FROM p WHERE b.workspace_id = p.workspace_id AND b.budget_id = p.budget_id AND b.period_start = p.period_start`,
		b, string(kind), string(from), string(to), int64(amount))
}

// unequal returns how many periods have a sum that is not that of their lines.
func (w *testWorkspace) unequal() int {
	w.t.Helper()
	return dbfactory.Int(w.t, w.db, `SELECT count(*) FROM budget_period p CROSS JOIN LATERAL (
			SELECT coalesce(sum(CASE WHEN from_account = 'outside' THEN nanos WHEN to_account = 'outside' THEN -nanos END), 0) AS money,
				coalesce(sum(CASE WHEN from_account = 'outside' THEN tokens WHEN to_account = 'outside' THEN -tokens END), 0) AS tokens,
				coalesce(sum(CASE WHEN from_account = 'outside' THEN runs WHEN to_account = 'outside' THEN -runs END), 0) AS runs,
				coalesce(sum(CASE WHEN from_account = 'settled' THEN -nanos WHEN to_account = 'settled' THEN nanos END), 0) AS settled,
				coalesce(sum(CASE WHEN from_account = 'reserved' THEN -nanos WHEN to_account = 'reserved' THEN nanos END), 0) AS reserved
			FROM budget_ledger l WHERE l.workspace_id = p.workspace_id AND l.budget_id = p.budget_id AND l.period_start = p.period_start
		) s WHERE (coalesce(p.limit_nanos, 0), coalesce(p.limit_tokens, 0), coalesce(p.limit_runs, 0), p.settled_nanos, p.reserved_nanos)
			<> (s.money, s.tokens, s.runs, s.settled, s.reserved)`)
}

func number[T any](n T) *T { return &n }
