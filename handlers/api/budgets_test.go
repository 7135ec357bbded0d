package api_test

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A budget is made, read, edited, raised, given from and removed; money is a decimal with
// nine places.
func TestABudgetIsKept(t *testing.T) {
	w := newAPIServer(t)
	made := w.as(w.owner, "POST", "/budgets", object{"name": "All", "scope": "workspace", "period": "month", "timezone": "Europe/Berlin",
		"limit_usd": "100.5", "limit_runs": 50, "throttle": true}).want(201)
	path := "/budgets/" + made.text("id")
	if made.text("limit_usd") != "100.500000000" || made.text("slice_usd") != "1.000000000" || made.text("state", "remaining_usd") != "100.500000000" ||
		made.text("projection", "verdict") != "too_little_data" {
		t.Errorf("made %v", made)
	}
	other := w.as(w.owner, "POST", "/budgets", object{"name": "Once", "scope": "milestone", "phase": "beta", "period": "once",
		"limit_usd": "1", "hard": false}).want(201)
	if end := other.at("state", "period_end"); end != nil {
		t.Errorf("it ends %v", end)
	}
	edited := w.as(w.owner, "PATCH", path, object{"version": 1, "limit_usd": "80", "limit_runs": nil, "alert_at": []int{75}}).want(200)
	if edited.text("state", "limit_usd") != "80.000000000" || edited.number("version") != 2 || edited.at("limit_runs") != nil {
		t.Errorf("edited %v", edited)
	}
	w.as(w.owner, "PATCH", path, object{"version": 1, "name": "x"}).want(409).refused(fault.VersionConflict)
	raised := w.as(w.owner, "POST", path+"/raise", object{"amount_usd": "20", "until": time.Now().Add(time.Hour).UTC(), "reason": "release"}).want(200)
	if raised.text("state", "remaining_usd") != "100.000000000" || raised.text("limit_usd") != "80.000000000" {
		t.Errorf("raised %v", raised)
	}
	gave := w.as(w.owner, "POST", path+"/transfer", object{"to": other.text("id"), "amount_usd": "99.999999999"}).want(200)
	if gave.text("state", "remaining_usd") != "0.000000001" {
		t.Errorf("gave %v", gave)
	}
	w.as(w.owner, "POST", path+"/transfer", object{"to": other.text("id"), "amount_usd": "1"}).want(409).refused(fault.OverBudget)
	w.as(w.owner, "POST", path+"/transfer", object{"to": "x", "amount_usd": "1"}).want(422).refused(fault.Validation, "to")
	w.as(w.owner, "POST", "/budgets", object{"name": "x", "scope": "job", "period": "day", "limit_usd": "1"}).want(422).refused(fault.Validation, "job")
	w.as(w.owner, "POST", "/budgets", object{"name": "x", "scope": "workspace", "period": "day", "limit_usd": "-1"}).want(422).refused(fault.Validation, "limit_usd")
	w.checkLedger(path)
	if n := w.as(w.owner, "GET", "/budgets", nil).want(200).count("items"); n != 2 {
		t.Errorf("%d budgets", n)
	}
	if now := w.as(w.owner, "GET", path, nil).want(200); now.text("state", "remaining_usd") != "0.000000001" {
		t.Errorf("it stands %v", now)
	}
	w.as(w.owner, "DELETE", path, nil).want(204)
	w.as(w.owner, "GET", path, nil).want(404).refused(fault.NotFound)
	w.as(w.owner, "GET", "/budgets/nothing", nil).want(404).refused(fault.NotFound)
}

// checkLedger reads the ledger of a budget that was edited, raised and given from, and its
// series.
func (w *apiServer) checkLedger(path string) {
	t := w.t
	t.Helper()
	page := w.as(w.owner, "GET", path+"/ledger?limit=2", nil).want(200)
	rest := w.as(w.owner, "GET", path+"/ledger?cursor="+page.text("next_cursor"), nil).want(200)
	var kinds []string
	for _, from := range []answer{page, rest} {
		for i := range from.count("items") {
			kinds = append(kinds, from.text("items", i, "kind"))
		}
	}
	if got := len(kinds); got != 4 || kinds[0] != "transfer_out" || kinds[1] != "raise" || kinds[2] != "expire" || kinds[3] != "grant" {
		t.Errorf("the ledger has %v", kinds)
	}
	series := w.as(w.owner, "GET", path+"/series?bucket=hour", nil).want(200)
	if series.count("points") != 2 || series.text("points", 0, "limit_usd") != "0.000000001" {
		t.Errorf("the series is %v", series)
	}
}
