package budgets_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// An owner raises a budget from its page; what was refused keeps what was typed, and
// others do not see the way there.
func TestRaiseABudget(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	limit := spend.Nanos(10_000_000_000)
	b, err := d.Budgets.Create(t.Context(), d.Owner, budgets.Input{Name: "All", Scope: budgets.Workspace, Period: budgets.Month, Hard: true,
		Limits: budgets.Limits{Money: &limit}})
	if err != nil {
		t.Fatal(err)
	}
	path := "/budgets/" + b.ID.String() + "/raise"
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/budgets"), http.StatusOK), "#budget a[href='"+path+"']", 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get(path), http.StatusOK), "#raise-form", "$10.00 of $10.00 is free.")
	doc := handlertest.Page(t, d.Post(path, url.Values{"amount_usd": {"12,50"}, "until": {"tomorrow"}, "reason": {"more"}}), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#amount_usd-e", "It must be an amount of dollars like 0.0123.")
	handlertest.WantCount(t, doc, "#reason[value=more]", 1)
	doc = handlertest.Page(t, d.Post(path, url.Values{"amount_usd": {"5"}, "until": {"tomorrow"}}), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#until-e", "It must be a day such as 2030-01-31.")
	handlertest.WantRedirect(t, d.Post(path, url.Values{"amount_usd": {"$2.50"}, "until": {""}, "reason": {"more"}}), "/budgets?budget="+b.ID.String())
	doc = handlertest.Page(t, d.Get("/budgets"), http.StatusOK)
	handlertest.WantText(t, doc, "#budget", "All, free of $12.50")
	handlertest.WantText(t, doc, "#toasts", "All was raised")
	handlertest.WantStatus(t, d.Get("/budgets/nonsense/raise"), http.StatusNotFound)
	member := d.As(tenancy.RoleMember)
	handlertest.WantCount(t, handlertest.Page(t, member.Get("/budgets"), http.StatusOK), "#budget a.btn", 1)
	handlertest.WantStatus(t, member.Post(path, url.Values{"amount_usd": {"5"}}), http.StatusForbidden)
}
