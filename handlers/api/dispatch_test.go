package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// What is changed of how jobs are given out is changed, the rest stays, and the log has both.
func TestDispatchIsChangedInParts(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "PUT", "/products/ledger", object{}).want(201)
	before := w.as(w.owner, "GET", "/dispatch", nil).want(200)
	if before.text("mode") != "pull" || before.number("offer_seconds") != 15 || before.number("ageing_minutes") != 0 ||
		before.number("weights", "load") != 2 || before.at("product_weights", "default") != nil {
		t.Errorf("by default: %s", before.raw)
	}
	w.as(w.owner, "PUT", "/dispatch", object{"mode": "pull", "ageing_minutes": 60, "weights": object{"load": 7},
		"product_weights": object{"ledger": 3, "default": 2}}).want(200)
	after := w.as(w.owner, "PUT", "/dispatch", object{"offer_seconds": 20, "product_weights": object{"default": 1}}).want(200)
	if again := w.as(w.owner, "GET", "/dispatch", nil).want(200); string(again.raw) != string(after.raw) {
		t.Errorf("answered %s, read %s", after.raw, again.raw)
	}
	if after.number("ageing_minutes") != 60 || after.number("weights", "load") != 7 || after.number("weights", "health") != 3 ||
		after.number("product_weights", "ledger") != 3 || after.at("product_weights", "default") != nil || after.number("offer_seconds") != 20 {
		t.Errorf("after: %s", after.raw)
	}
	w.as(w.owner, "PUT", "/dispatch", object{"ageing_minutes": 60}).want(200) // nothing new
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE type = 'dispatch.changed'`); n != 2 {
		t.Errorf("%d events; want 2", n)
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE type = 'dispatch.changed' AND changes @> '[
		{"field": "product_weights.default", "old": 2, "new": 1}, {"field": "offer_seconds", "old": 15, "new": 20}]'
		AND jsonb_array_length(changes) = 2`); n != 1 {
		t.Errorf("%d events say what the second call changed", n)
	}
}

func TestDispatchHasItsBounds(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, c := range []struct {
		change object
		field  string
	}{
		{object{"mode": "fair"}, "mode"},
		{object{"offer_seconds": 4}, "offer_seconds"},
		{object{"affinity_seconds": 61}, "affinity_seconds"},
		{object{"preempt_gap": 11}, "preempt_gap"},
		{object{"preempt_gap": -1}, "preempt_gap"},
		{object{"ageing_minutes": -1}, "ageing_minutes"},
		{object{"ageing_minutes": 10081}, "ageing_minutes"},
		{object{"weights": object{"load": 11}}, "weights.load"},
		{object{"product_weights": object{"default": 0}}, "product_weights.default"},
		{object{"product_weights": object{"default": 101}}, "product_weights.default"},
		{object{"product_weights": object{"nowhere": 2}}, "product_weights.nowhere"},
	} {
		w.as(w.owner, "PUT", "/dispatch", c.change).want(422).refused(fault.Validation, c.field)
	}
	w.as(w.owner, "PUT", "/dispatch", object{"weights": object{"luck": 1}}).want(400).refused(fault.Malformed, "weights.luck")
	agent := w.agent("ada")
	w.as(agent, "GET", "/dispatch", nil).want(403).refused(fault.Forbidden)
	w.as(agent, "PUT", "/dispatch", object{"preempt_gap": 1}).want(403).refused(fault.Forbidden)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM dispatch_setting`); n != 0 {
		t.Error("a refused change was saved")
	}
}

// A job that waiting has made more urgent says so, and its own priority stays.
func TestARaisedJobSaysSo(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "PUT", "/dispatch", object{"ageing_minutes": 30}).want(200)
	key := w.job("Waiting")
	dbfactory.Exec(t, w.db, `UPDATE job_ready SET place = place - interval '65 minutes'`)
	if n, err := w.dispatch.AgeReady(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d jobs were raised, %v", n, err)
	}
	why := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200)
	if why.count("reasons") < 2 || why.text("reasons", 1, "code") != "raised" ||
		why.text("reasons", 1, "detail") != "Raised by ageing: it counts as priority 7 because it has waited." {
		t.Errorf("explained by %s", why.raw)
	}
	if job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); job.number("priority") != 5 {
		t.Errorf("the job: %s", job.raw)
	}
}

// A running job says to which job it is to give its seat, and that one whose seat it is to get.
func TestBothJobsSayThatASeatIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "PUT", "/dispatch", object{"preempt_gap": 4}).want(200)
	low := w.job("Low")
	agent := w.agent("ada")
	dbfactory.Exec(t, w.db, `UPDATE factory SET seats = 1`)
	held := w.as(agent, "POST", "/fleet/claim", object{}).want(200)
	epoch := held.number("jobs", 0, "lease", "epoch")
	w.as(agent, "POST", "/fleet/progress", object{"job": low, "epoch": epoch, "checkpoint": object{"at": 1}}).want(200)
	urgent := w.as(w.owner, "POST", "/jobs", object{"title": "Urgent", "priority": 9}).want(201).text("key")
	if _, err := w.dispatch.Preempt(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := w.as(agent, "POST", "/fleet/progress", object{"job": low, "epoch": epoch, "progress_percent": 10}).want(200)
	if asked.text("directive") != "pause" || !strings.HasPrefix(asked.text("reason"), urgent+" (priority 9) is more urgent and waits for this seat.") {
		t.Errorf("the agent is told %s", asked.raw)
	}
	for key, c := range map[string]struct{ code, other string }{low: {"preempt_pending", urgent}, urgent: {"awaits_seat", low}} {
		why := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200)
		found := false
		for i := range why.count("reasons") {
			found = found || why.text("reasons", i, "code") == c.code && why.text("reasons", i, "jobs", 0) == c.other
		}
		if !found {
			t.Errorf("%s is explained by %s", key, why.raw)
		}
	}
}
