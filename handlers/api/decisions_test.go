package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// In shadow mode each attempt has a decision, and those that differ are counted and explained.
func TestDecisionsAndDivergence(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.agent("bea", object{"factory": object{"name": "bare", "seats": 2}})
	before := w.job("before")
	w.claim(ada)
	if got := w.as(w.owner, "GET", "/jobs/"+before+"/decisions", nil).want(200); len(got.at("items").([]any)) != 0 {
		t.Errorf("in pull mode: %s", got.raw)
	}
	w.as(w.owner, "PUT", "/dispatch", object{"mode": "shadow"}).want(200)
	key := w.job("one")
	w.claim(ada)
	got := w.as(ada, "GET", "/jobs/"+key+"/decisions", nil).want(200)
	if got.number("items", 0, "epoch") != 1 || got.text("items", 0, "mode") != "shadow" || got.text("items", 0, "by") != "pull" ||
		got.text("items", 0, "best") != "bare" || got.text("items", 0, "class") != "real" ||
		!strings.HasPrefix(got.text("items", 0, "why"), "bare suits it better than ") ||
		got.text("items", 0, "candidates", 0, "factory") != "bare" || got.at("items", 0, "candidates", 0, "eligible") != true ||
		got.number("items", 0, "candidates", 0, "parts", "load") != 1 {
		t.Errorf("decisions: %s", got.raw)
	}
	d := w.as(w.owner, "GET", "/dispatch/divergence", nil).want(200)
	if d.number("decisions") != 1 || d.number("classes", "real") != 1 || d.number("classes", "infeasible") != 0 ||
		d.text("examples", 0, "job") != key || d.text("examples", 0, "scored") != "bare" || d.text("examples", 0, "why") == "" {
		t.Errorf("divergence: %s", d.raw)
	}
	later := w.as(w.owner, "GET", "/dispatch/divergence?since=2999-01-01T00:00:00Z", nil).want(200)
	if later.number("decisions") != 0 || len(later.at("examples").([]any)) != 0 {
		t.Errorf("of the future: %s", later.raw)
	}
	w.as(ada, "GET", "/dispatch/divergence", nil).want(403).refused(fault.Forbidden)
	w.as(w.owner, "GET", "/jobs/FB-404/decisions", nil).want(404).refused(fault.NotFound)
}
