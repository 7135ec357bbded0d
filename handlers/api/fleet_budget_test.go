package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A claim says what it may spend; before something costly an agent checks whether there is
// enough left, and is answered by the tightest limit.
func TestAnAgentAsksBeforeItSpends(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.as(w.owner, "POST", "/budgets", object{"name": "Soft", "scope": "workspace", "period": "month", "limit_usd": "0.01", "hard": false}).want(201)
	w.as(w.owner, "POST", "/budgets", object{"name": "All", "scope": "workspace", "period": "month", "limit_usd": "10", "slice_usd": "1"}).want(201)
	w.job("One")
	claimed := w.as(ada, "POST", "/fleet/claim", object{}).want(200)
	if claimed.text("jobs", 0, "budget", "slice_usd") != "1.000000000" || claimed.text("jobs", 0, "budget", "remaining_usd") != "9.000000000" {
		t.Errorf("the claim says %v", claimed.at("jobs", 0, "budget"))
	}
	ref := object{"job": claimed.text("jobs", 0, "key"), "epoch": claimed.number("jobs", 0, "lease", "epoch")}
	spend := func(id string, cost json.Number, more ...object) {
		t.Helper()
		e := told(id, object{"cost_usd": cost})
		for _, m := range more {
			e = merge(e, m)
		}
		if a := w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{e}})).want(200); a.text("results", 0, "status") != "recorded" {
			t.Fatal(a.raw)
		}
	}
	check := func(in object, directive, budget, remaining, reason string) {
		t.Helper()
		a := w.as(ada, "POST", "/fleet/budget", merge(ref, in)).want(200)
		left, _ := a.at("remaining_usd").(string)
		why, _ := a.at("reason").(string)
		if a.text("directive") != directive || a.text("budget") != budget || left != remaining || !strings.Contains(why, reason) {
			t.Errorf("%v is answered %s; want %s of %q with %s, because %q", in, a.raw, directive, budget, remaining, reason)
		}
	}
	check(object{"at": "spawn"}, "continue", "All", "10.000000000", "")
	check(object{"at": "spawn", "estimate_usd": "10"}, "continue", "All", "10.000000000", "")
	check(object{"at": "spawn", "estimate_usd": "10.01"}, "pause", "All", "10.000000000", "$10.00 left for this job, and the step is expected to cost $10.01")
	check(object{"at": "checkpoint", "estimate_usd": "10.01"}, "warn", "All", "10.000000000", "expected")
	spend("a", "4")
	check(object{"at": "commit", "changed_lines": 10}, "continue", "All", "6.000000000", "")
	spend("b", "0", object{"output_tokens": 300_000})
	check(object{"at": "commit", "changed_lines": 10}, "warn", "All", "6.000000000", "for 10 changed lines")
	check(object{"at": "commit", "changed_lines": 2000}, "continue", "All", "6.000000000", "")

	// The job's own ceiling counts where it is tighter.
	version := w.as(w.owner, "GET", "/jobs/"+ref["job"].(string), nil).want(200).number("version")
	w.as(w.owner, "PATCH", "/jobs/"+ref["job"].(string), object{"version": version, "budget_usd": "4.1"}).want(200)
	check(object{"at": "checkpoint"}, "warn", ref["job"].(string), "0.100000000", "more than 90 %")
	spend("c", "0.1")
	check(object{"at": "checkpoint"}, "pause", ref["job"].(string), "0.000000000", "budget_usd")

	for field, in := range map[string]object{"estimate_usd": {"at": "spawn", "estimate_usd": "x"}, "at": {"at": "lunch"},
		"changed_lines": {"at": "commit", "changed_lines": -1}} {
		w.as(ada, "POST", "/fleet/budget", merge(ref, in)).want(422).refused(fault.Validation, field)
	}
	w.as(ada, "POST", "/fleet/budget", merge(ref, object{"epoch": 7, "at": "spawn"})).want(409).refused(fault.StaleEpoch)
}

// Where nothing limits money, all is well.
func TestNoBudgetIsNoLimit(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("One")
	a := w.as(ada, "POST", "/fleet/budget", merge(w.claim(ada), object{"at": "spawn", "estimate_usd": "500"})).want(200)
	if a.text("directive") != "continue" || a.text("budget") != "" || a.at("remaining_usd") != nil {
		t.Error(a.raw)
	}
}

// A used-up hard budget stops before the agent's next step.
func TestAUsedUpBudgetStopsTheNextStep(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.as(w.owner, "POST", "/budgets", object{"name": "All", "scope": "workspace", "period": "month", "limit_usd": "1", "slice_usd": "1"}).want(201)
	w.job("One")
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told("a", object{"cost_usd": json.Number("1.5")})}})).want(200)
	a := w.as(ada, "POST", "/fleet/budget", merge(ref, object{"at": "checkpoint"})).want(200)
	if a.text("directive") != "pause" || a.text("remaining_usd") != "-0.500000000" || !strings.Contains(a.text("reason"), `"All" is used up`) {
		t.Error(a.raw)
	}
}

// A raise is taken back by its line in the ledger.
func TestARaiseIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	path := "/budgets/" + w.as(w.owner, "POST", "/budgets", object{"name": "All", "scope": "workspace", "period": "month", "limit_usd": "1"}).want(201).text("id")
	w.as(w.owner, "POST", path+"/raise", object{"amount_usd": "5"}).want(200)
	line := object{"line": w.as(w.owner, "GET", path+"/ledger", nil).want(200).number("items", 0, "id")}
	if b := w.as(w.owner, "POST", path+"/undo", line).want(200); b.text("state", "remaining_usd") != "1.000000000" {
		t.Errorf("after the raise was taken back: %s", b.raw)
	}
	w.as(w.owner, "POST", path+"/undo", line).want(409).refused(fault.InvalidTransition)
	w.as(w.owner, "POST", path+"/undo", object{"line": 999999}).want(404).refused(fault.NotFound)
}

// A claim names the budget with the least left, whichever it is: the workspace's, the
// product's, the milestone's or the job's own, also after it has spent some of it.
func TestAClaimTellsOfTheLeastBudget(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	limit := func(name string, usd, slice string, of object) string {
		t.Helper()
		return w.as(w.owner, "POST", "/budgets", merge(object{"name": name, "period": "month", "limit_usd": usd, "slice_usd": slice}, of)).want(201).text("id")
	}
	var ref object
	claims := func(job object, slice, remaining, budget, id string) {
		t.Helper()
		key := w.as(w.owner, "POST", "/jobs", merge(object{"title": "One"}, job)).want(201).text("key")
		a := w.as(ada, "POST", "/fleet/claim", object{"job": key}).want(200)
		ref = object{"job": key, "epoch": a.number("jobs", 0, "lease", "epoch")}
		b := func(field string) string { return a.text("jobs", 0, "budget", field) }
		if budget == "own" {
			budget = key
		}
		if b("slice_usd") != slice || b("remaining_usd") != remaining || b("budget") != budget || b("budget_id") != id {
			t.Errorf("%v: %v; want %s, %s of %s", job, a.at("jobs", 0, "budget"), slice, remaining, budget)
		}
	}
	claims(object{"budget_usd": "3"}, "3.000000000", "0.000000000", "own", "")
	soft := limit("Soft", "2", "0.5", object{"scope": "workspace", "hard": false})
	claims(object{}, "0.500000000", "1.500000000", "Soft", soft)
	claims(object{"budget_usd": "3"}, "0.500000000", "2.500000000", "own", "")
	all := limit("All", "10", "5", object{"scope": "workspace"})
	phase := limit("Beta", "6", "0.5", object{"scope": "milestone", "phase": "beta"})
	claims(object{"budget_usd": "100"}, "5.000000000", "5.000000000", "All", all)
	w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "tired"})).want(200)
	claims(object{"phase": "beta"}, "0.500000000", "5.500000000", "Beta", phase)
	w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "tired"})).want(200)
	claims(object{"phase": "beta", "budget_usd": "0.2"}, "0.200000000", "0.000000000", "own", "")

	// What is left of the job's own ceiling is without what its attempts have cost.
	w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told("a", object{"cost_usd": "0.15"})}})).want(200)
	w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "tired"})).want(200)
	a := w.as(ada, "POST", "/fleet/claim", object{"job": ref["job"]}).want(200)
	if a.text("jobs", 0, "budget", "slice_usd") != "0.050000000" || a.text("jobs", 0, "budget", "budget") != ref["job"] {
		t.Errorf("the second attempt is told %v", a.at("jobs", 0, "budget"))
	}
}

// A job says what it has cost, and what of that since the last progress of the attempt
// that runs.
func TestAJobSaysWhatItHasCost(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("One")
	spends := func(ref object, id, cost string) {
		t.Helper()
		w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told(id, object{"cost_usd": cost})}})).want(200)
	}
	costs := func(spent, since string) {
		t.Helper()
		if j := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); j.text("spent_usd") != spent || j.text("spent_since_progress_usd") != since {
			t.Errorf("spent %s, since the last progress %s; want %s and %s", j.text("spent_usd"), j.text("spent_since_progress_usd"), spent, since)
		}
	}
	costs("0.000000000", "0.000000000")
	ref := w.claim(ada)
	spends(ref, "a", "0.5")
	spends(ref, "b", "0.25")
	costs("0.750000000", "0.750000000")
	w.as(ada, "POST", "/fleet/progress", merge(ref, object{"progress_percent": 10})).want(200)
	costs("0.750000000", "0.000000000")
	spends(ref, "b", "0.35") // raised by 0.10
	spends(ref, "c", "1")
	costs("1.850000000", "1.100000000")
	w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "shift ends"})).want(200)
	costs("1.850000000", "0.000000000")
	spends(w.claim(ada), "d", "1")
	costs("2.850000000", "1.000000000")
}
