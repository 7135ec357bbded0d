package budgets_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// budget makes a budget.
func budget(t *testing.T, d *handlertest.Workspace, in budgets.Input) budgets.Budget {
	t.Helper()
	b, err := d.Budgets.Create(t.Context(), d.Owner, in)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func dollars(n int64) *spend.Nanos {
	amount := spend.Nanos(n * 1_000_000_000)
	return &amount
}

func TestNoBudgetYet(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/budgets"), http.StatusOK)
	handlertest.WantText(t, doc, "#budgets-body", "No budget yet")
	handlertest.WantCount(t, doc, "table", 0)
	handlertest.WantCount(t, doc, ".nav a[href='/budgets'][aria-current=page]", 1)
}

// The page says how each budget stands, and one at length: that of the workspace, or
// the selected one.
func TestShowBudgets(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	budget(t, d, budgets.Input{Name: "M2", Scope: budgets.Milestone, Product: "ledger", Phase: "m2", Period: budgets.Once,
		Limits: budgets.Limits{Money: dollars(60)}, Hard: true})
	ledger := budget(t, d, budgets.Input{Name: "Ledger", Scope: budgets.Product, Product: "ledger", Period: budgets.Month,
		Limits: budgets.Limits{Money: dollars(1200)}})
	budget(t, d, budgets.Input{Name: "All", Scope: budgets.Workspace, Period: budgets.Week, Limits: budgets.Limits{Money: dollars(2000)}})
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 742180000000, reserved_nanos = 38000000000
		WHERE budget_id = $1`, ledger.ID)
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 60000000000
		WHERE budget_id = (SELECT id FROM budget WHERE name = 'M2')`)

	doc := handlertest.Page(t, d.Get("/budgets"), http.StatusOK)
	handlertest.WantText(t, doc, "#budget-h", "All, free of $2,000.00")
	handlertest.WantText(t, doc, "#all-budgets .count", "3 budgets")
	names := doc.Find("#all-budgets tbody th a").Text()
	if names != "AllLedgerM2" {
		t.Errorf("the order is %s", names)
	}
	row := "#budget-" + ledger.ID.String()
	handlertest.WantText(t, doc, row, "$1,200.00")
	handlertest.WantText(t, doc, row, "$742.18")
	handlertest.WantText(t, doc, row, "$419.82")
	handlertest.WantCount(t, doc, row+" rect.bar-set[width='618']", 1)
	handlertest.WantCount(t, doc, row+" rect.bar-res[x='618'][width='32']", 1)
	handlertest.WantCount(t, doc, row+" svg[aria-label='Settled $742.18, reserved $38.00, free $419.82 of $1,200.00']", 1)
	handlertest.WantText(t, doc, "#all-budgets tbody tr:last-child .bad", "now, new claims held")

	doc = handlertest.Page(t, d.Get("/budgets?budget="+ledger.ID.String()), http.StatusOK)
	handlertest.WantText(t, doc, "#budget-h", "Ledger, free of $1,200.00")
	handlertest.WantText(t, doc, "#budget .big", "$419.82")
	handlertest.WantCount(t, doc, row+" a[aria-current=true]", 1)
	handlertest.WantCount(t, doc, "#live[hx-sse\\:connect*='"+url.QueryEscape(ledger.ID.String())+"']", 1)
}

// A budget that limits tokens alone is shown in tokens.
func TestABudgetOfTokens(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	most := int64(1_000_000)
	budget(t, d, budgets.Input{Name: "Tokens", Scope: budgets.Workspace, Period: budgets.Day, Limits: budgets.Limits{Tokens: &most}})
	doc := handlertest.Page(t, d.Get("/budgets"), http.StatusOK)
	handlertest.WantText(t, doc, "#budget-h", "Tokens, free of 1,000,000 tokens")
}

// What was used stands side by side in money, tokens and runs, and the last six periods below the
// chart: one that passed its limit in red, none yet as a sentence, and nothing where a budget has no
// periods.
func TestUsesAndPastPeriods(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, budgets.Input{Name: "All", Scope: budgets.Workspace, Period: budgets.Month, Timezone: "Europe/Berlin",
		Limits: budgets.Limits{Money: dollars(100)}})
	once := budget(t, d, budgets.Input{Name: "Once", Scope: budgets.Workspace, Period: budgets.Once, Limits: budgets.Limits{Money: dollars(1)}})
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 40000000000, settled_tokens = 1200000, runs = 7 WHERE budget_id = $1`, b.ID)
	page := "/budgets?budget=" + b.ID.String()
	doc := handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#uses", "Settled$40.001.2 M7")
	handlertest.WantText(t, doc, "#uses", "Limit$100.00nonenone")
	handlertest.WantText(t, doc, "#past-periods", "No period has ended yet.")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/budgets?budget="+once.ID.String()), http.StatusOK), "#past-periods", 0)
	dbfactory.Exec(t, d.DB, `INSERT INTO budget_period (workspace_id, budget_id, period_start, period_end, limit_nanos, settled_nanos, settled_tokens, runs)
		SELECT workspace_id, budget_id, (period_start AT TIME ZONE 'Europe/Berlin' - n * interval '1 month') AT TIME ZONE 'Europe/Berlin',
			(period_start AT TIME ZONE 'Europe/Berlin' - (n - 1) * interval '1 month') AT TIME ZONE 'Europe/Berlin', 100e9, n * 30e9, 5000, n
		FROM budget_period, generate_series(1, 7) n WHERE budget_id = $1`, b.ID)
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantCount(t, doc, "#past-periods tbody tr", 6)
	handlertest.WantText(t, doc, "#past-periods .count", "the last 6 months")
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	handlertest.WantText(t, doc, "#past-periods tbody tr:first-child", b.State.Start.In(zone).AddDate(0, -1, 0).Format("Jan 2006")+" $30.00$100.0030%5,0001")
	handlertest.WantText(t, doc, "#past-periods tbody tr:nth-child(4) .bad", "120%")
}

// The form makes a budget; refused, it keeps what was typed and says at the field what
// must be.
func TestMakeABudget(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/budgets"), http.StatusOK), "a[href='/budgets/new']", 2)
	handlertest.Page(t, d.Get("/budgets/new"), http.StatusOK)
	handlertest.Read(t, d.As(tenancy.RoleMember).Get("/budgets/new"), http.StatusForbidden)
	in := url.Values{"name": {"All"}, "scope": {"workspace"}, "period": {"month"}, "timezone": {"Europe/Berlin"}, "limit_usd": {"much"}, "hard": {"1"}}
	doc := handlertest.Page(t, d.Post("/budgets", in), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#limit_usd-e", "amount of dollars")
	handlertest.WantCount(t, doc, "#limit_usd[value=much][aria-invalid], #name[value=All], #hard[checked]", 3)
	in.Set("limit_usd", "12.50")
	in.Set("timezone", "Nowhere")
	handlertest.WantCount(t, handlertest.Page(t, d.Post("/budgets", in), http.StatusUnprocessableEntity), "#timezone-e", 1)
	in.Set("timezone", "Europe/Berlin")
	if res := d.Post("/budgets", in); res.StatusCode != http.StatusSeeOther {
		t.Fatalf("it answers %d", res.StatusCode)
	}
	list, err := d.Budgets.List(t.Context(), d.Owner)
	if err != nil || len(list) != 1 || *list[0].Money != 12_500_000_000 || !list[0].Hard || list[0].Timezone != "Europe/Berlin" {
		t.Errorf("made %+v, %v", list, err)
	}
	doc = handlertest.Page(t, d.Get("/budgets"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "All was made")
	handlertest.WantCount(t, doc, "#burn-down svg.chart", 1)
}
