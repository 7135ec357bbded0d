package budgets_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A budget is read as it was made, with its present period open and granted.
func TestABudgetIsMadeAndRead(t *testing.T) {
	w := newTestWorkspace(t)
	got := w.made(monthly(100, func(in *budgets.Input) { in.Scope, in.Product = budgets.Product, "default" }))
	start, end, err := budgets.Month.Bounds(time.Now(), zone(t, "Europe/Berlin"))
	if err != nil {
		t.Fatal(err)
	}
	product, _ := ids.Parse(dbfactory.Text(t, w.db, `SELECT id::text FROM product`))
	want := budgets.Budget{Name: "All", Scope: budgets.Product, ProductID: product, Product: "default", Period: budgets.Month,
		Timezone: "Europe/Berlin", Limits: budgets.Limits{Money: dollars(100)}, Hard: true, Slice: dollar, SliceTokens: 200_000, Unpriced: budgets.AskUnpriced,
		AlertAt: []int{50, 80, 90, 100}, Version: 1, CreatedBy: w.who.Name,
		State:      budgets.State{Start: start, End: end, Limits: budgets.Limits{Money: dollars(100)}},
		Projection: forecast.Projection{Verdict: forecast.TooLittleData, Until: end}}
	drift := cmpopts.IgnoreFields(forecast.Projection{}, "From")
	volatile := cmp.Options{cmpopts.IgnoreFields(budgets.Budget{}, "ID", "CreatedAt"), drift, cmpopts.EquateApproxTime(0)}
	if diff := cmp.Diff(want, got, volatile); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, w.get(got.ID), drift); diff != "" {
		t.Errorf("made and read (-made +read):\n%s", diff)
	}
	if list, err := w.List(t.Context(), w.who); err != nil || len(list) != 1 || list[0].ID != got.ID {
		t.Errorf("%v %v", list, err)
	}
	if n := w.unequal(); n != 0 {
		t.Errorf("%d periods are not what their ledger says", n)
	}
	if n := dbfactory.EventCount(t, w.db, "budget.created"); n != 1 {
		t.Errorf("%d events", n)
	}
	// The scope is the same word that the database makes of a job's.
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget
		WHERE scope_key = ANY(budget_scopes(product_id, 'beta', gen_random_uuid()))`); n != 1 {
		t.Error("no job of the product would find it")
	}
}

func TestEachScopeIsFound(t *testing.T) {
	w := newTestWorkspace(t)
	product, _ := ids.Parse(dbfactory.Text(t, w.db, `SELECT id::text FROM product`))
	job := ids.New()
	dbfactory.Exec(t, w.db, `INSERT INTO lane (workspace_id, product_id, needs, digest) VALUES ($1, $2, '{}', '')`, w.who.Workspace, product)
	dbfactory.Exec(t, w.db, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, epoch, created_by)
		SELECT workspace_id, $1, 'J-1', 'job', product_id, id, 'ready', 2, 'test' FROM lane`, job)
	for name, change := range map[string]func(*budgets.Input){
		"workspace": func(*budgets.Input) {},
		"product":   func(in *budgets.Input) { in.Scope, in.Product = budgets.Product, "default" },
		"phase":     func(in *budgets.Input) { in.Scope, in.Phase = budgets.Milestone, "beta" },
		"both":      func(in *budgets.Input) { in.Scope, in.Phase, in.Product = budgets.Milestone, "beta", "default" },
		"job":       func(in *budgets.Input) { in.Scope, in.Job = budgets.Job, "J-1" },
	} {
		b := w.made(monthly(1, change))
		if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget WHERE id = $1 AND scope_key = ANY(budget_scopes($2, 'beta', $3))`,
			b.ID, product, job); n != 1 || !b.Covers(product, "beta", job) {
			t.Errorf("%s: the job does not find it", name)
		}
		others := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget
			WHERE id = $1 AND scope_key = ANY(budget_scopes(gen_random_uuid(), 'alpha', gen_random_uuid()))`, b.ID)
		if want := name == "workspace"; (others == 1) != want || b.Covers(ids.New(), "alpha", ids.New()) != want {
			t.Errorf("%s: another job finds it: %v", name, others == 1)
		}
	}
}

func TestWhatABudgetMustBe(t *testing.T) {
	w := newTestWorkspace(t)
	for _, c := range []struct {
		field  string
		change func(*budgets.Input)
	}{
		{"name", func(in *budgets.Input) { in.Name = "" }},
		{"name", func(in *budgets.Input) { in.Name = strings.Repeat("x", budgets.MaxName+1) }},
		{"scope", func(in *budgets.Input) { in.Scope = "galaxy" }},
		{"product", func(in *budgets.Input) { in.Scope = budgets.Product }},
		{"product", func(in *budgets.Input) { in.Product = "default" }},
		{"product", func(in *budgets.Input) { in.Scope, in.Product = budgets.Product, "nothing" }},
		{"phase", func(in *budgets.Input) { in.Scope = budgets.Milestone }},
		{"job", func(in *budgets.Input) { in.Scope, in.Job = budgets.Job, "J-9" }},
		{"period", func(in *budgets.Input) { in.Period = "year" }},
		{"timezone", func(in *budgets.Input) { in.Timezone = "Mars/Olympus" }},
		{"timezone", func(in *budgets.Input) { in.Timezone = "Local" }},
		{"limit_usd", func(in *budgets.Input) { in.Limits = budgets.Limits{} }},
		{"limit_usd", func(in *budgets.Input) { in.Limits.Money = number(budgets.MaxMoney + 1) }},
		{"limit_tokens", func(in *budgets.Input) { in.Limits.Tokens = number(int64(-1)) }},
		{"limit_runs", func(in *budgets.Input) { in.Limits.Runs = number(int64(budgets.MaxRuns + 1)) }},
		{"slice_usd", func(in *budgets.Input) { in.Slice = dollars(101) }},
		{"slice_usd", func(in *budgets.Input) { in.Slice = dollars(0) }},
		{"slice_tokens", func(in *budgets.Input) { in.SliceTokens = number(int64(0)) }},
		{"alert_at[1]", func(in *budgets.Input) { in.AlertAt = []int{80, 50} }},
		{"alert_at[0]", func(in *budgets.Input) { in.AlertAt = []int{101} }},
		{"alert_at", func(in *budgets.Input) { in.AlertAt = make([]int, budgets.MaxAlerts+1) }},
	} {
		_, err := w.Create(t.Context(), w.who, monthly(100, c.change))
		if f := fault.From(err); !fault.Is(err, fault.Validation) || f.Fields[c.field] == "" {
			t.Errorf("%s: %v %v", c.field, err, f.Fields)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget`); n != 0 {
		t.Errorf("%d budgets were made", n)
	}
}

// A limit that is edited moves that of the present period by as much.
func TestALimitIsEdited(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100))
	if _, err := w.Raise(t.Context(), w.who, b.ID, budgets.Raise{Amount: 10 * dollar}); err != nil {
		t.Fatal(err)
	}
	w.told()
	for _, c := range []struct {
		money  budgets.Ceiling[spend.Nanos]
		tokens budgets.Ceiling[int64]
		want   budgets.Limits // of the present period
		freed  bool
	}{
		{budgets.Ceiling[spend.Nanos]{Set: true, Value: dollars(120)}, budgets.Ceiling[int64]{}, budgets.Limits{Money: dollars(130)}, true},
		{budgets.Ceiling[spend.Nanos]{Set: true, Value: dollars(50)}, budgets.Ceiling[int64]{Set: true, Value: number(int64(1000))},
			budgets.Limits{Money: dollars(60), Tokens: number(int64(1000))}, false},
		{budgets.Ceiling[spend.Nanos]{Set: true}, budgets.Ceiling[int64]{}, budgets.Limits{Tokens: number(int64(1000))}, true},
		{budgets.Ceiling[spend.Nanos]{Set: true, Value: dollars(1)}, budgets.Ceiling[int64]{Set: true}, budgets.Limits{Money: dollars(1)}, true},
	} {
		got, err := w.Change(t.Context(), w.who, b.ID, budgets.Patch{Money: c.money, Tokens: c.tokens})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.State.Limits); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(got, w.get(b.ID), cmpopts.IgnoreFields(forecast.Projection{}, "From", "Verdict")); diff != "" {
			t.Errorf("answered and read (-answered +read):\n%s", diff)
		}
		if slices.Contains(w.told(), b.ID) != c.freed {
			t.Errorf("%v: room was told: %v", c.want, !c.freed)
		}
		if n := w.unequal(); n != 0 {
			t.Fatalf("%d periods are not what their ledger says", n)
		}
	}
	if _, err := w.Change(t.Context(), w.who, b.ID, budgets.Patch{Version: number(1)}); !fault.Is(err, fault.VersionConflict) {
		t.Error(err)
	}
	if _, err := w.Change(t.Context(), w.who, b.ID, budgets.Patch{Money: budgets.Ceiling[spend.Nanos]{Set: true}}); !fault.Is(err, fault.Validation) {
		t.Errorf("a budget without a limit: %v", err)
	}
}

// A budget that is removed frees what was reserved of it, and keeps its ledger.
func TestABudgetIsRemoved(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100))
	w.book(b.ID, budgets.Reserved, budgets.Free, budgets.InUse, 5*dollar)
	dbfactory.Exec(t, w.db, `INSERT INTO budget_reservation (workspace_id, job_id, epoch, budget_id, period_start, held_nanos, held_tokens)
		SELECT workspace_id, gen_random_uuid(), 1, budget_id, period_start, 5000000000, 0 FROM budget_period`)
	w.told()
	if err := w.Remove(t.Context(), w.who, b.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Get(t.Context(), w.who, b.ID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if n := dbfactory.Int(t, w.db, `SELECT (SELECT count(*) FROM budget_reservation) + sum(reserved_nanos) FROM budget_period`); n != 0 {
		t.Error("something is reserved still")
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget_ledger`); n != 3 || w.unequal() != 0 {
		t.Errorf("%d lines", n)
	}
	if !slices.Contains(w.told(), b.ID) {
		t.Error("nobody was told")
	}
	if err := w.Remove(t.Context(), w.who, b.ID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestWhoMayChangeBudgets(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100))
	for _, role := range []tenancy.Role{tenancy.RoleMember, tenancy.RoleViewer} {
		who := dbfactory.Person(w.who.Workspace, role)
		_, made := w.Create(t.Context(), who, monthly(1))
		_, changed := w.Change(t.Context(), who, b.ID, budgets.Patch{})
		_, raised := w.Raise(t.Context(), who, b.ID, budgets.Raise{Amount: dollar})
		_, moved := w.Transfer(t.Context(), who, b.ID, budgets.Transfer{To: ids.New(), Amount: dollar})
		_, undone := w.Undo(t.Context(), who, b.ID, 1, nil)
		for _, err := range []error{made, changed, raised, moved, w.Remove(t.Context(), who, b.ID), undone} {
			if !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: %v", role, err)
			}
		}
		if _, err := w.Get(t.Context(), who, b.ID); err != nil {
			t.Error(err)
		}
	}
	enrolment := dbfactory.Enrolment(w.who.Workspace)
	if _, err := w.List(t.Context(), enrolment); !fault.Is(err, fault.Forbidden) {
		t.Error(err)
	}
	other := dbfactory.Person(dbfactory.Workspace(t, w.db), tenancy.RoleOwner)
	if _, err := w.Get(t.Context(), other, b.ID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if err := w.Remove(t.Context(), other, b.ID); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// Whoever needs a period opens it, once, however often and by whom.
func TestAPeriodIsOpenedOnce(t *testing.T) {
	w := newTestWorkspace(t)
	b := w.made(monthly(100))
	next := b.State.End.Add(time.Hour)
	for i := range 2 {
		err := w.db.In(t.Context(), db.Workspace(w.who.Workspace), func(tx db.Tx) error {
			opened, err := budgets.OpenTx(t.Context(), tx, w.who.Workspace, []ids.ID{b.ID, ids.New()}, next)
			if len(opened) != 1-i {
				t.Errorf("opened %v", opened)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget_ledger WHERE kind = 'grant'`); n != 2 || w.unequal() != 0 {
		t.Errorf("%d grants", n)
	}
	if end := dbfactory.Int(t, w.db, `SELECT count(*) FROM budget_period p JOIN budget_period n ON n.period_start = p.period_end`); end != 1 {
		t.Error("the periods do not follow one another")
	}
}

// What periods are the sums of goes with them, and they with their workspace.
func TestALedgerGoesWithItsWorkspace(t *testing.T) {
	w := newTestWorkspace(t)
	w.made(monthly(100))
	dbfactory.Exec(t, w.db, `INSERT INTO budget_reservation SELECT workspace_id, gen_random_uuid(), 1, budget_id, period_start, 1, 1 FROM budget_period`)
	dbfactory.Exec(t, w.db, `DELETE FROM workspace`)
	if n := dbfactory.Int(t, w.db, `SELECT (SELECT count(*) FROM budget_ledger) + (SELECT count(*) FROM budget_reservation)`); n != 0 {
		t.Errorf("%d rows are left behind", n)
	}
}
