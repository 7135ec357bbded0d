package api_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Reports of one call are answered as each would be alone: in their order, and one
// that is refused does not fail the others.
func TestABatchAnswersEachReport(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"max_concurrent_jobs": 10})
	w.agent("eve")
	item := func(verb string, ref object, more ...object) object {
		one := merge(ref, object{"verb": verb})
		for _, m := range more {
			one = merge(one, m)
		}
		return one
	}
	var refs []object
	for _, title := range []string{"One", "Two", "Three", "Four"} {
		w.job(title)
		refs = append(refs, w.claim(ada))
	}
	got := w.as(ada, "POST", "/fleet/batch", object{"items": []object{
		item("start", refs[0]),
		item("complete", refs[1], object{"summary": "done"}),
		item("progress", refs[0], object{"progress_percent": 30, "current_step": "tests"}),
		item("complete", refs[2], object{"summary": 5}),
		item("fail", refs[2], object{"error": "it broke", "retryable": true}),
		item("complete", object{"job": refs[3]["job"], "epoch": 7}),
		item("complete", object{"job": "NOPE", "epoch": 1}),
		item("complete", refs[0], object{"summary": "after its progress"}),
		item("renew", refs[3], object{"colour": "red"}),
		item("logs", refs[3], object{"lines": []object{{"level": "INFO", "message": "hello"}}}),
		item("renew", refs[3], object{"Job": 5, "VERB": "start"}),
	}}).want(200)
	want := []int64{200, 200, 200, 400, 200, 409, 404, 200, 400, 200, 400}
	var statuses []int64
	for i := range want {
		statuses = append(statuses, got.number("items", i, "status"))
	}
	if !slices.Equal(statuses, want) {
		t.Fatalf("answers %v; want %v: %s", statuses, want, got.raw)
	}
	for i, code := range map[int]fault.Code{3: fault.Malformed, 5: fault.StaleEpoch, 6: fault.NotFound, 8: fault.Malformed,
		10: fault.Malformed} {
		if got.text("items", i, "body", "code") != string(code) || got.text("items", i, "body", "request_id") == "" {
			t.Errorf("item %d: want %s: %s", i, code, got.raw)
		}
	}
	for i, status := range map[int]string{1: "completed", 4: "waiting", 7: "completed"} {
		if got.text("items", i, "body", "status") != status {
			t.Errorf("item %d is %s; want %s", i, got.text("items", i, "body", "status"), status)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM job_lease`); n != 1 {
		t.Errorf("%d leases are left; want one", n)
	}
}

// One of the reports of a batch brings jobs for all seats that become free with it.
func TestABatchBringsTheNextJobs(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"max_concurrent_jobs": 2})
	var items []object
	for range 2 {
		w.job("First")
		items = append(items, merge(w.claim(ada), object{"verb": "complete"}))
	}
	w.job("Second")
	w.job("Second")
	items[1]["next"] = object{"max": 2}
	got := w.as(ada, "POST", "/fleet/batch", object{"items": items}).want(200)
	if got.number("items", 0, "status") != 200 || got.number("items", 1, "status") != 200 {
		t.Fatalf("the batch: %s", got.raw)
	}
	if n := got.count("items", 1, "body", "next", "jobs"); n < 1 || n > 2 {
		t.Errorf("the batch brought %d jobs: %s", n, got.raw)
	}
	w.as(ada, "POST", "/fleet/claim", object{"max": 2})
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM job_lease`); n != 2 {
		t.Errorf("%d leases; want 2", n)
	}
}

// What is wrong with the batch itself fails it as a whole, before anything is done.
func TestABatchThatIsNone(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("One")
	ref := w.claim(ada)
	many := make([]object, 201)
	for i := range many {
		many[i] = merge(ref, object{"verb": "start"})
	}
	for _, c := range []struct {
		body   object
		status int
	}{
		{object{}, 422}, {object{"items": []object{}}, 422}, {object{"items": many}, 422},
		{object{"items": []object{merge(ref, object{"verb": "claim"})}}, 422},
		{object{"items": []object{merge(ref, object{"verb": "start"}), {"verb": "start", "epoch": 1}}}, 422},
		{object{"items": []object{merge(ref, object{"verb": "start"})}, "all": true}, 400},
		{object{"items": []object{merge(ref, object{"verb": "complete", "next": object{}}),
			merge(ref, object{"verb": "release", "reason": "x", "next": object{}})}}, 422},
	} {
		w.as(ada, "POST", "/fleet/batch", c.body).want(c.status)
	}
	if dbfactory.Int(t, w.db, `SELECT count(*) FROM job WHERE status = 'assigned'`) != 1 {
		t.Error("a batch that was refused did something")
	}
}

// A batch whose answer was lost may be sent again as a whole: what ended a lease is
// answered as before, and what would end it otherwise learns how it ended.
func TestABatchIsToldTwice(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"max_concurrent_jobs": 10})
	var items []object
	for verb, words := range map[string]object{"complete": {"summary": "done"}, "fail": {"error": "it broke", "retryable": true},
		"release": {"reason": "later", "checkpoint": object{"b": 1, "a": 2}}, "ask": {"question": "Which?"}} {
		w.job(verb)
		ref := merge(w.claim(ada), words)
		items = append(items, merge(ref, object{"verb": verb}))
	}
	for _, round := range []string{"first", "again"} {
		got := w.as(ada, "POST", "/fleet/batch", object{"items": items}).want(200)
		for i := range items {
			if got.number("items", i, "status") != 200 {
				t.Errorf("%s, %s: %s", round, items[i]["verb"], got.raw)
			}
		}
	}
	outcomes := map[string]string{"complete": "completed", "fail": "failed", "release": "released", "ask": "asked"}
	for _, item := range items {
		otherwise := w.as(ada, "POST", "/fleet/fail", object{"job": item["job"], "epoch": item["epoch"], "error": "else"}).want(409).refused(fault.AlreadyEnded)
		if verb, _ := item["verb"].(string); otherwise.text("outcome") != outcomes[verb] {
			t.Errorf("%s ended: %s", verb, otherwise.raw)
		}
	}
}
