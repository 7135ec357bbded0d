package budgets_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A budget near its end recommends a raise, a transfer from the budget of its chain with most left,
// and the throttle. Each link leads to the form with its values, which one press sends; who may not
// change budgets sees none.
func TestARecommendation(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	d.Product("docs", jobs.ProductSettings{Repos: []string{"docs"}})
	all := budget(t, d, hard("All", 300))
	product := func(name string, limit int64) budgets.Budget {
		return budget(t, d, budgets.Input{Name: name, Scope: budgets.Product, Product: name, Period: budgets.Month,
			Limits: budgets.Limits{Money: dollars(limit)}})
	}
	ledger := product("ledger", 100)
	product("docs", 900) // has more, but is of another product
	page := "/budgets?budget=" + ledger.ID.String()
	handlertest.WantCount(t, handlertest.Page(t, d.Get(page), http.StatusOK), "#advice", 0)
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 85e9 WHERE budget_id = $1`, ledger.ID)
	doc := handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#advice", "It has $15.00 free.")
	handlertest.WantText(t, doc, "#advice li:nth-child(1)", "Raise to $110.00")
	handlertest.WantText(t, doc, "#advice li:nth-child(2)", "Transfer $10.00 from All")
	handlertest.WantText(t, doc, "#advice li:nth-child(3)", "Slow down: jobs of low priority wait")
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleMember).Get(page), http.StatusOK), "#advice", 0)

	to := func(n string) string { return doc.Find("#advice li:nth-child("+n+") a").AttrOr("href", "") }
	form := handlertest.Page(t, d.Get(to("1")), http.StatusOK)
	handlertest.WantCount(t, form, "#raise-form #amount_usd[value='10'], #raise-form #reason[value=recommended]", 2)
	handlertest.WantStatus(t, d.As(tenancy.RoleMember).Get(to("1")), http.StatusForbidden)
	form = handlertest.Page(t, d.Get(to("2")), http.StatusOK)
	handlertest.WantCount(t, form, "#amount_usd[value='10'], #from option[selected][value='"+all.ID.String()+"'], #to option[selected][value='"+
		ledger.ID.String()+"']", 3)
	handlertest.WantCount(t, handlertest.Page(t, d.Get(to("3")), http.StatusOK), "#budget-form #throttle[checked]", 1)
	handlertest.WantRedirect(t, d.Post("/budgets/transfer", url.Values{"from": {all.ID.String()}, "to": {ledger.ID.String()},
		"amount_usd": {"10"}, "reason": {"recommended"}}), "/budgets?budget="+all.ID.String())
	handlertest.WantCount(t, handlertest.Page(t, d.Get(page), http.StatusOK), "#advice", 0)

	// A soft one that is used up may be made hard.
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 120e9 WHERE budget_id = $1`, ledger.ID)
	doc = handlertest.Page(t, d.Get(page), http.StatusOK)
	handlertest.WantText(t, doc, "#advice", "It is over its limit by $10.00.")
	handlertest.WantText(t, doc, "#advice li:nth-child(3)", "Stop here: hold new claims")
	handlertest.WantCount(t, handlertest.Page(t, d.Get(to("3")), http.StatusOK), "#budget-form #hard[checked]", 1)
}
