package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
)

// reasons are the codes of an explanation.
func reasonsOf(a answer) string {
	var codes []string
	for i := range a.count("reasons") {
		codes = append(codes, a.text("reasons", i, "code"))
	}
	return strings.Join(codes, " ")
}

// Whatever money has to do with a job that does not run is named, with the budget, also
// before anybody claims it; and so is the directive for its agent.
func TestMoneyAndPendingStopsAreExplained(t *testing.T) {
	t.Parallel()
	budget := func(w *apiServer) {
		w.as(w.owner, "POST", "/budgets", object{"name": "Quarter", "scope": "workspace", "period": "month", "limit_usd": "1", "slice_usd": "1"}).want(201)
	}
	for name, c := range map[string]struct {
		make   func(w *apiServer) (key string)
		codes  string
		says   string // in the last reason
		budget bool
		model  string
	}{
		"a budget that is used up, before a claim": {func(w *apiServer) string {
			budget(w)
			w.job("First")
			w.claim(w.agent("ada"))
			return w.job("Second")
		}, "budget", `"Quarter" has $0.00 free`, true, ""},
		"after a claim": {func(w *apiServer) string {
			budget(w)
			ada := w.agent("ada")
			w.job("First")
			w.claim(ada)
			key := w.job("Second")
			w.as(ada, "POST", "/fleet/claim", object{}).want(204)
			return key
		}, "budget", `"Quarter" has $0.00 free`, true, ""},
		"a throttle": {func(w *apiServer) string {
			budget(w)
			dbfactory.Exec(t, w.db, `UPDATE budget SET throttle = true, throttled_below = 6`)
			w.agent("ada")
			return w.job("Build")
		}, "throttled", `"Quarter" would run out before its period ends`, true, ""},
		"a throttle, after a claim": {func(w *apiServer) string {
			budget(w)
			dbfactory.Exec(t, w.db, `UPDATE budget SET throttle = true, throttled_below = 6`)
			key := w.job("Build")
			w.as(w.agent("ada"), "POST", "/fleet/claim", object{}).want(204)
			return key
		}, "throttled", `"Quarter" would run out before its period ends`, true, ""},
		"a throttle for less urgent ones": {func(w *apiServer) string {
			budget(w)
			dbfactory.Exec(t, w.db, `UPDATE budget SET throttle = true, throttled_below = 5`)
			w.agent("ada")
			return w.job("Build")
		}, "can_start", "A seat is free", false, ""},
		"a model without a price": {func(w *apiServer) string {
			budget(w)
			w.agent("ada", object{"model": "house-7b"})
			return w.job("Build")
		}, "budget", `The model "house-7b" has no price`, true, "house-7b"},
		"another agent's model has one": {func(w *apiServer) string {
			budget(w)
			w.agent("ada", object{"model": "house-7b"})
			w.agent("eve", object{"model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"})
			return w.job("Build")
		}, "can_start", "A seat is free", false, ""},
		"paused by a budget": {func(w *apiServer) string {
			budget(w)
			ada := w.agent("ada")
			w.job("First")
			ref := w.claim(ada)
			w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told("a", object{"cost_usd": 2})}})).want(200)
			dbfactory.Exec(t, w.db, `DELETE FROM job_lease`)
			dbfactory.Exec(t, w.db, `UPDATE job SET status = 'paused', status_by = 'budget', status_by_kind = 'system' WHERE key = $1`, ref["job"])
			return ref["job"].(string)
		}, "budget", `"Quarter" has $0.00 free`, true, ""},
		"a pause that its agent has not carried out": {func(w *apiServer) string {
			w.job("First")
			key := w.claim(w.agent("ada"))["job"].(string)
			w.as(w.owner, "POST", "/jobs/"+key+"/pause", object{}).want(200)
			return key
		}, "claimed pause_pending", "Asked to pause by ", false, ""},
		"a cancel that its agent has not carried out": {func(w *apiServer) string {
			w.job("First")
			key := w.claim(w.agent("ada"))["job"].(string)
			w.as(w.owner, "POST", "/jobs/"+key+"/cancel", object{"reason": "not needed"}).want(200)
			return key
		}, "claimed cancel_pending", "not needed", false, ""},
		"a pause that a budget asks for": {func(w *apiServer) string {
			budget(w)
			ada := w.agent("ada")
			w.job("First")
			ref := w.claim(ada)
			w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told("a", object{"cost_usd": 2})}})).want(200)
			return ref["job"].(string)
		}, "claimed pause_pending", `"Quarter" is used up`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAPIServer(t)
			key := c.make(w)
			e := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200)
			last := e.count("reasons") - 1
			if got := reasonsOf(e); got != c.codes || !strings.Contains(e.text("reasons", last, "detail"), c.says) {
				t.Errorf("it says %s", e.raw)
			}
			named, _ := e.at("reasons", 0, "budget").(string)
			id, _ := e.at("reasons", 0, "budget_id").(string)
			model, _ := e.at("reasons", 0, "model").(string)
			if (named == "Quarter") != c.budget || (id != "") != c.budget || model != c.model {
				t.Errorf("it names %q (%s) and %q: %s", named, id, model, e.raw)
			}
		})
	}
}

// A preview says what keeps a job back beside the fleet.
func TestAPreviewSaysThatABudgetIsAtItsEnd(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.agent("ada")
	preview := func(in object) string {
		return reasonsOf(w.as(w.owner, "POST", "/routability", in).want(200))
	}
	if got := preview(object{}); got != "" {
		t.Errorf("without a budget it says %s", got)
	}
	w.as(w.owner, "POST", "/budgets", object{"name": "M1", "scope": "milestone", "phase": "M1", "period": "month", "limit_usd": "0"}).want(201)
	if got := preview(object{"phase": "M1"}); got != "budget" {
		t.Errorf("of the phase it says %q", got)
	}
	if got := preview(object{"phase": "M2"}); got != "" {
		t.Errorf("of another phase it says %q", got)
	}
	w.as(w.owner, "POST", "/budgets", object{"name": "All", "scope": "workspace", "period": "month", "limit_usd": "10"}).want(201)
	dbfactory.Exec(t, w.db, `UPDATE budget SET throttle = true, throttled_below = 6 WHERE name = 'All'`)
	if got := preview(object{}); got != "throttled" {
		t.Errorf("of a throttled job it says %q", got)
	}
	if got := preview(object{"priority": 9}); got != "" {
		t.Errorf("of an urgent job it says %q", got)
	}
	w.agent("ada", object{"model": "house-7b", "boot_id": "later"})
	if got := preview(object{"priority": 9}); got != "budget" {
		t.Errorf("of a model without a price it says %q", got)
	}
}

// Models without a price are listed and decided on by the API.
func TestModelsWithoutAPriceAreDecidedOn(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"model": "House-7B", "provider": "house"})
	made := w.as(w.owner, "POST", "/budgets", object{"name": "All", "scope": "workspace", "period": "month", "limit_usd": "10"}).want(201)
	if made.text("unpriced") != "ask" {
		t.Errorf("the budget is %s", made.raw)
	}
	w.as(w.owner, "POST", "/budgets", object{"name": "x", "scope": "workspace", "period": "month", "limit_usd": "10", "unpriced": "maybe"}).want(422)
	w.job("Build")
	w.as(ada, "POST", "/fleet/claim", object{}).want(204)
	list := w.as(ada, "GET", "/prices/models", nil).want(200)
	if list.count("items") != 1 || list.text("items", 0, "model") != "house-7b" || list.text("items", 0, "budget") != "All" || list.text("items", 0, "source") != "ada" ||
		list.text("items", 0, "decision") != "" {
		t.Errorf("asked is %s", list.raw)
	}
	w.as(ada, "PUT", "/prices/models", object{"model": "house-7b", "decision": "pass"}).want(403)
	w.as(w.owner, "PUT", "/prices/models", object{"model": "house-7b", "decision": "count"}).want(422)
	w.as(w.owner, "PUT", "/prices/models", object{"model": "house-7b", "decision": "count", "counts_as": object{"provider": "house", "model": "x"}}).want(422)
	after := w.as(w.owner, "PUT", "/prices/models", object{"model": "HOUSE-7b", "decision": "count",
		"counts_as": object{"provider": "anthropic", "model": "claude-haiku-4-5"}}).want(200)
	if after.count("items") != 1 || after.text("items", 0, "counts_as", "model") != "claude-haiku-4-5" || after.text("items", 0, "decided_by") == "" {
		t.Errorf("decided is %s", after.raw)
	}
	w.claim(ada)
	patched := w.as(w.owner, "PATCH", "/budgets/"+made.text("id"), object{"unpriced": "allow"}).want(200)
	if patched.text("unpriced") != "allow" {
		t.Errorf("the budget is %s", patched.raw)
	}
}
