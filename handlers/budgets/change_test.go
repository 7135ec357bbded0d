package budgets_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func hard(name string, limit int64) budgets.Input {
	return budgets.Input{Name: name, Scope: budgets.Workspace, Period: budgets.Month, Hard: true, Limits: budgets.Limits{Money: dollars(limit)}}
}

// A budget is edited in the form that made it, without what never changes; who was faster
// is said, and nothing that was typed is lost.
func TestEditABudget(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 100))
	path := "/budgets/" + b.ID.String() + "/edit"
	doc := handlertest.Page(t, d.Get(path), http.StatusOK)
	handlertest.WantCount(t, doc, "#name[value=All], #limit_usd[value='100'], #slice_usd[value='1'], #alert_at[value='50, 80, 90, 100'], #hard[checked]", 5)
	handlertest.WantCount(t, doc, "#scope, #period, #timezone", 0)
	in := url.Values{"name": {"Most"}, "version": {"1"}, "limit_usd": {"80"}, "limit_tokens": {"some"}, "limit_runs": {"40"}, "slice_usd": {""},
		"alert_at": {"75, 50"}, "throttle": {"1"}}
	doc = handlertest.Page(t, d.Post(path, in), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#limit_tokens-e, #limit_tokens[value=some], #alert_at[value='75, 50'], #throttle[checked]", 4)
	in.Set("limit_tokens", "1,000")
	handlertest.WantText(t, handlertest.Page(t, d.Post(path, in), http.StatusUnprocessableEntity), "#alert_at-e", "must rise")
	in.Set("alert_at", "50, 75%")
	handlertest.WantRedirect(t, d.Post(path, in), "/budgets?budget="+b.ID.String())
	now, err := d.Budgets.Get(t.Context(), d.Owner, b.ID)
	if err != nil || now.Name != "Most" || *now.State.Money != 80_000_000_000 || *now.Tokens != 1000 || *now.Runs != 40 || now.Hard ||
		!now.Throttle || len(now.AlertAt) != 2 {
		t.Errorf("changed to %+v, %v", now, err)
	}
	doc = handlertest.Page(t, d.Post(path, in), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#budget-form", "The budget has changed")
	handlertest.WantStatus(t, d.As(tenancy.RoleMember).Get(path), http.StatusForbidden)
}

// What is removed is confirmed first, gone from the page, and holds nothing any more.
func TestRemoveABudget(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 100))
	doc := handlertest.Page(t, d.Get("/budgets/"+b.ID.String()+"/edit"), http.StatusOK)
	action, ok := doc.Find("#dlg-remove form[method=post]").Attr("action")
	if !ok {
		t.Fatal("nobody asks before it is removed")
	}
	handlertest.WantRedirect(t, d.Post(action, nil), "/budgets")
	doc = handlertest.Page(t, d.Get("/budgets"), http.StatusOK)
	handlertest.WantText(t, doc, "#budgets-body", "No budget yet")
	handlertest.WantText(t, doc, "#toasts", "All was removed")
}

// Money goes to another budget, in both ledgers, and comes back by the ledger's button.
func TestTransferAndUndo(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	all := budget(t, d, hard("All", 100))
	small := budget(t, d, budgets.Input{Name: "Small", Scope: budgets.Product, Product: "ledger", Period: budgets.Month,
		Limits: budgets.Limits{Money: dollars(5)}})
	path, from := "/budgets/transfer", all.ID.String()
	doc := handlertest.Page(t, d.Get(path+"?from="+from), http.StatusOK)
	handlertest.WantText(t, doc, "#to", "Small, ledger")
	handlertest.WantText(t, doc, "#from option[selected]", "All, workspace, $100.00 free")
	doc = handlertest.Page(t, d.Post(path, url.Values{"from": {from}, "to": {small.ID.String()}, "amount_usd": {"1000"}, "reason": {"beta"}}), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#amount_usd-e", "$100.00 free")
	handlertest.WantCount(t, doc, "#to option[selected][value='"+small.ID.String()+"'], #reason[value=beta]", 2)
	handlertest.WantText(t, handlertest.Page(t, d.Post(path, url.Values{"from": {from}, "amount_usd": {"1"}}), http.StatusUnprocessableEntity), "#to-e", "Choose")
	handlertest.WantRedirect(t, d.Post(path, url.Values{"from": {from}, "to": {small.ID.String()}, "amount_usd": {"20"}, "reason": {"beta"}}), "/budgets?budget="+all.ID.String())
	handlertest.WantText(t, handlertest.Page(t, d.Get("/budgets?budget="+small.ID.String()), http.StatusOK), "#budget", "Small, free of $25.00")

	ledger := "/budgets/" + all.ID.String() + "/ledger"
	doc = handlertest.Page(t, d.Get(ledger), http.StatusOK)
	handlertest.WantText(t, doc, "#ledger tbody tr:first-child", "−$20.00")
	handlertest.WantText(t, doc, "#ledger tbody tr:first-child", "to Small: beta")
	line, _ := doc.Find("#ledger input[name=line]").Attr("value")
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleViewer).Get(ledger), http.StatusOK), "#ledger form", 0)
	undo := "/budgets/" + all.ID.String() + "/undo"
	handlertest.WantRedirect(t, d.Post(undo, url.Values{"line": {line}}), ledger)
	doc = handlertest.Page(t, d.Get(ledger), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "It was taken back")
	handlertest.WantText(t, doc, "#ledger tbody tr:first-child", "+$20.00")
	handlertest.WantRedirect(t, d.Post(undo, url.Values{"line": {line}}), ledger)
	handlertest.WantText(t, handlertest.Page(t, d.Get(ledger), http.StatusOK), "#toasts", "It was not taken back")
}

// A raise whose money has moved on is not taken back, and the page says why.
func TestUndoOfARaiseThatHasMovedOn(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 10))
	raised, err := d.Budgets.Raise(t.Context(), d.Owner, b.ID, budgets.Raise{Amount: *dollars(20)})
	if err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 15000000000`)
	ledger := "/budgets/" + b.ID.String() + "/ledger"
	handlertest.WantRedirect(t, d.Post("/budgets/"+b.ID.String()+"/undo", url.Values{"line": {strconv.FormatInt(raised.Line, 10)}}), ledger)
	doc := handlertest.Page(t, d.Get(ledger), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "It was not taken back")
	handlertest.WantText(t, doc, "#toasts", "All has $15.00 free")
}

// A ledger is read page by page, and one kind of lines alone.
func TestALongLedger(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 100))
	dbfactory.Exec(t, d.DB, `INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos)
		SELECT workspace_id, budget_id, period_start, 'settle', 'free', 'settled', 10000000 FROM budget_period, generate_series(1, 60)`)
	doc := handlertest.Page(t, d.Get("/budgets/"+b.ID.String()+"/ledger"), http.StatusOK)
	handlertest.WantCount(t, doc, "#ledger tbody tr", 50)
	older, _ := doc.Find("a.more").Attr("href")
	if !strings.Contains(older, "before=") {
		t.Fatalf("older lines are at %q", older)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get(older), http.StatusOK), "#ledger tbody tr", 11)
	doc = handlertest.Page(t, d.Get("/budgets/"+b.ID.String()+"/ledger?kind=limit"), http.StatusOK)
	handlertest.WantCount(t, doc, "#ledger tbody tr", 1)
	handlertest.WantText(t, doc, ".subnav [aria-current]", "Limit")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/budgets/"+b.ID.String()+"/ledger?kind=transfer"), http.StatusOK), "#main", "No such lines")
	handlertest.WantStatus(t, d.Get("/budgets/"+b.ID.String()+"/ledger?before=x"), http.StatusUnprocessableEntity)
}

// A hard budget that is used up is said on every page and asks a person in one place: to
// raise it, to transfer to it, or to leave it so. Another limit asks again.
func TestAUsedUpBudgetAsksAPerson(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 10))
	soft := hard("Soft", 10)
	soft.Hard = false
	budget(t, d, soft)
	spent := func(usd int) {
		dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = $1::bigint * 1000000000`, usd)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#money-note .note", 0)
	spent(9)
	dbfactory.Exec(t, d.DB, `INSERT INTO budget_alert (workspace_id, budget_id, period_start, threshold)
		SELECT workspace_id, budget_id, period_start, 90 FROM budget_period`)
	doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	handlertest.WantText(t, doc, "#money-note", "All is at 90%.")
	handlertest.WantText(t, doc, "#money-note", "and 1 more")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/needs-you"), http.StatusOK), "#need-budget-"+b.ID.String(), 0)
	spent(10)
	doc = handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	handlertest.WantCount(t, doc, "#money-note .note:not([hidden])", 0)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#money-note", "All is used up.")
	handlertest.WantText(t, doc, "#need-budget-"+b.ID.String(), "100% of it is settled")
	handlertest.WantText(t, doc, "#needs-count", "1 budget at its end")
	handlertest.WantCount(t, doc, ".need a[href='/budgets/"+b.ID.String()+"/raise'], .need a[href='/budgets/transfer?to="+b.ID.String()+"']", 2)
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleMember).Get("/needs-you"), http.StatusOK), ".need a.btn, .need form", 0)
	handlertest.WantRedirect(t, d.Post("/budgets/"+b.ID.String()+"/stop", nil), "/needs-you")
	doc = handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	handlertest.WantText(t, doc, "#needs-panel", "Nothing needs you")
	handlertest.WantText(t, doc, "#money-note", "All is at 100%.")
	handlertest.WantRedirect(t, d.Post("/budgets/"+b.ID.String()+"/raise", url.Values{"amount_usd": {"0.50"}}), "/budgets?budget="+b.ID.String())
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/needs-you"), http.StatusOK), "#need-budget-"+b.ID.String(), 1)
	handlertest.WantRedirect(t, d.Post("/budgets/"+b.ID.String()+"/raise", url.Values{"amount_usd": {"90"}}), "/budgets?budget="+b.ID.String())
	doc = handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	handlertest.WantText(t, doc, "#needs-panel", "Nothing needs you")
	handlertest.WantText(t, doc, "#money-note", "Soft is at 100%.")
}

// Beside the chart stands what the budget's jobs used by model, and below it how well the
// last finished jobs were estimated.
func TestModelsAndEstimates(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	agent := d.Agent("ada")
	one := d.Job("One")
	d.Claim(agent)
	all := budget(t, d, hard("All", 100))
	other := budget(t, d, budgets.Input{Name: "Ledger", Scope: budgets.Product, Product: "ledger", Period: budgets.Month,
		Limits: budgets.Limits{Money: dollars(5)}})
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/budgets"), http.StatusOK), "#by-model, #estimates", 0)
	d.Use(agent, lease.Ref{Job: one.Key, Epoch: 1}, "a", "1.25", 1000)
	dbfactory.Exec(t, d.DB, `INSERT INTO job_cost SELECT workspace_id, id, now(), kind, '', 2, 5, 0, 'sonnet', 1000, 0, 0, 0, 0, 1000, 3000000000 FROM job`)
	doc := handlertest.Page(t, d.Get("/budgets?budget="+all.ID.String()), http.StatusOK)
	handlertest.WantText(t, doc, "#by-model", "sonnet")
	handlertest.WantText(t, doc, "#by-model .models-f", "$1.25")
	handlertest.WantCount(t, doc, "#by-model a[href='/usage?model=sonnet']", 1)
	handlertest.WantText(t, doc, "#estimates", one.Key)
	handlertest.WantText(t, doc, "#estimates .models-f", "Of the last 1 job,")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/budgets?budget="+other.ID.String()), http.StatusOK), "#by-model", 0)
}

// Only what has nothing left is called used up.
func TestWhatHasTooLittleLeftIsNotUsedUp(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	b := budget(t, d, hard("All", 10))
	dbfactory.Exec(t, d.DB, `UPDATE budget_period SET settled_nanos = 9900000000`)
	doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	handlertest.WantText(t, doc, "#need-budget-"+b.ID.String(), "All has too little left for another job")
	doc = handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantText(t, doc, "#money-note", "All has too little left for another job.")
	for what, change := range []string{ // what it says changes, its limit was raised, a period has begun
		`settled_nanos = 10000000000`, `limit_nanos = 20000000000, settled_nanos = 20000000000`, `period_end = period_end + interval '1 hour'`,
	} {
		key, _ := handlertest.Page(t, d.Get("/board"), http.StatusOK).Find("#money-note [name=key]").Attr("value")
		handlertest.WantRedirect(t, d.Post("/notes/put-away", url.Values{"key": {key}}), "/board")
		handlertest.WantCount(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#money-note .note:not([hidden])", 0)
		dbfactory.Exec(t, d.DB, `UPDATE budget_period SET `+change)
		if note := handlertest.Page(t, d.Get("/agents"), http.StatusOK).Find("#money-note .note:not([hidden])"); !strings.Contains(note.Text(), "All is used up.") {
			t.Errorf("after change %d the note says %q", what, note.Text())
		}
	}
	handlertest.WantStatus(t, d.Post("/notes/put-away", url.Values{"key": {"a;b"}}), http.StatusUnprocessableEntity)
}
