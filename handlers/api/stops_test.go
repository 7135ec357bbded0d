package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// What is stopped gives nothing out and asks who works to pause, until it is released.
func TestStopTheFleet(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.job("Running")
	w.job("Waiting")
	ada, bo := w.agent("ada"), w.agent("bo")
	held := w.claim(ada)
	if none := w.as(w.owner, "GET", "/stop", nil).want(200); none.count("items") != 0 {
		t.Errorf("before: %s", none.raw)
	}

	stopped := w.as(w.owner, "POST", "/stop", object{"reason": " a bad model ", "hold": "all"}).want(200)
	if stopped.count("items") != 1 || stopped.text("items", 0, "reason") != "a bad model" || stopped.text("items", 0, "hold") != "all" ||
		stopped.at("items", 0, "product") != nil {
		t.Errorf("stopped: %s", stopped.raw)
	}
	if got := w.as(bo, "POST", "/fleet/claim", object{}).want(204).header.Get("X-Claim-Reason"); got != "stopped" {
		t.Errorf("a claim answers %q", got)
	}
	if told := w.as(ada, "POST", "/fleet/progress", held).want(200); told.text("directive") != "pause" {
		t.Errorf("a heartbeat answers %s", told.raw)
	}
	why := w.as(w.owner, "GET", "/jobs/"+w.job("Later")+"/explanation", nil).want(200)
	if why.text("reasons", 0, "code") != "stopped" {
		t.Errorf("explained by %s", why.raw)
	}

	if rest := w.as(w.owner, "POST", "/stop/release", nil).want(200); rest.count("items") != 0 {
		t.Errorf("released: %s", rest.raw)
	}
	if told := w.as(ada, "POST", "/fleet/progress", held).want(200); told.text("directive") != "continue" {
		t.Errorf("a heartbeat after the release answers %s", told.raw)
	}
	w.claim(bo)
}

func TestAStopMustSayWhatAndWhy(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, c := range []struct {
		order object
		field string
	}{
		{object{"reason": " ", "hold": "all"}, "reason"},
		{object{"reason": "two\nlines", "hold": "all"}, "reason"},
		{object{"reason": "why", "hold": "everything"}, "hold"},
		{object{"reason": "why", "hold": "claims", "products": []string{"nowhere"}}, "products[0]"},
	} {
		w.as(w.owner, "POST", "/stop", c.order).want(422).refused(fault.Validation, c.field)
	}
	w.as(w.agent("ada"), "POST", "/stop", object{"reason": "why", "hold": "all"}).want(403).refused(fault.Forbidden)
	if none := w.as(w.owner, "GET", "/stop", nil).want(200); none.count("items") != 0 {
		t.Errorf("after refusals: %s", none.raw)
	}
}
