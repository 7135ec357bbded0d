package api_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// beside are fields of some answers that say more than the job: a read of the job
// has the usage and the estimate, a creation whether somebody could run it, a claim why it is worth
// its tier and what it orders, the end of a lease what the agent got in its place.
var beside = []string{"feedback_comments", "usage", "next", "order", "routable", "routability", "estimated_usd", "tier_why", "models", "usage_results", "budget", "spent_usd", "spent_since_progress_usd",
	"traceparent", "verify_usd", "proof_command"}

// fresh holds a job as a call answered it against a read right afterwards: same
// fields, same times, same precision.
func (w *apiServer) fresh(verb string, said any) {
	w.t.Helper()
	job, _ := said.(object)
	key, _ := job["key"].(string)
	if key == "" {
		w.t.Fatalf("%s answers with no job: %v", verb, said)
	}
	read, _ := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200).at().(object)
	if job["tier_why"] != nil {
		read["tier"] = job["tier"] // a claim says which one it is worth where nobody chose
	}
	for field := range maps.Keys(merge(read, job)) {
		if !slices.Contains(beside, field) && !reflect.DeepEqual(job[field], read[field]) {
			w.t.Errorf("%s says %s %v; a read right afterwards %v", verb, field, job[field], read[field])
		}
	}
}

// step is one call: who makes it, where, and where in its answer a job stands.
type step struct {
	as, method, path string
	body             object
	at               []any
}

// answers makes a call and checks the job that it answers with.
func (w *apiServer) answers(s step) answer {
	w.t.Helper()
	var body any
	if s.body != nil {
		body = s.body
	}
	a := w.as(s.as, s.method, s.path, body)
	if a.status >= 300 {
		w.t.Fatalf("%s %s is answered with %d: %s", s.method, s.path, a.status, a.raw)
	}
	w.fresh(s.method+" "+s.path, a.at(s.at...))
	return a
}

// Every call that answers with a job answers with what a read gives right afterwards.
func TestAnswersAreWhatAReadGivesAfterwards(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	soon := time.Now().Add(time.Hour).Add(123 * time.Nanosecond)
	act := func(key, verb string, body object) {
		w.answers(step{w.owner, "POST", "/jobs/" + key + "/" + verb, body, nil})
	}
	report := func(verb string, body object) { w.answers(step{ada, "POST", "/fleet/" + verb, body, nil}) }
	claimed := func() object {
		a := w.as(ada, "POST", "/fleet/claim", object{}).want(200)
		w.fresh("claim", a.at("jobs", 0))
		return object{"job": a.text("jobs", 0, "key"), "epoch": a.number("jobs", 0, "lease", "epoch")}
	}
	made := func(over object) string {
		a := w.answers(step{w.owner, "POST", "/jobs", merge(object{"title": "one", "input_context": object{"b": 1, "a": []int{2}}},
			over), nil})
		return a.text("key")
	}
	working := func(over object) (string, object) {
		key := made(over)
		lease := claimed()
		w.as(ada, "POST", "/fleet/start", lease).want(200)
		w.as(ada, "POST", "/fleet/progress", merge(lease, object{"progress_percent": 40, "current_step": "tests",
			"checkpoint": object{"at": 1}})).want(200)
		return key, lease
	}

	// A person's verbs on a job that nobody works on.
	key := made(object{"not_before": soon.Format(time.RFC3339Nano)})
	act(key, "pause", object{})
	act(key, "resume", object{})
	act(key, "block", object{"reason": "no contract"})
	act(key, "unblock", object{})
	act(made(nil), "complete", object{"reason": "done by hand", "result": object{"n": 1e2}})
	version := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200).number("version")
	w.answers(step{w.owner, "PATCH", "/jobs/" + key, object{"version": version, "title": "two", "body": "long", "priority": 9,
		"tags":       []string{"b", "a"},
		"acceptance": []string{"It is so"}, "not_before": soon.Add(time.Minute).Format(time.RFC3339Nano)}, nil})
	other := made(nil)
	w.answers(step{w.owner, "POST", "/jobs/" + key + "/dependencies", object{"depends_on": other}, nil})
	w.answers(step{w.owner, "DELETE", "/jobs/" + key + "/dependencies/" + other, nil, nil})
	w.answers(step{w.owner, "POST", "/jobs/" + key + "/dependencies", object{"depends_on": other, "type": "parent", "gate": true}, nil})
	w.answers(step{w.owner, "POST", "/jobs/" + key + "/dependencies", object{"depends_on": other, "type": "parent", "gate": false}, nil})
	w.answers(step{w.owner, "DELETE", "/jobs/" + key + "/dependencies/" + other + "?type=parent", nil, nil})
	act(key, "cancel", object{"reason": "no"})
	act(key, "retry", object{})
	act(key, "cancel", object{"reason": "no"})
	act(key, "archive", object{})
	act(other, "cancel", object{"reason": "no"})
	many := w.as(w.owner, "POST", "/jobs/batch", object{"jobs": []object{{"title": "x", "priority": 0,
		"not_before": soon.Format(time.RFC3339Nano)}, {"title": "y", "priority": 0}}}).want(201)
	for i := range 2 {
		w.fresh("batch", many.at("jobs", i))
		act(many.text("jobs", i, "key"), "cancel", object{"reason": "no"})
	}

	// Many at once.
	several := []string{many.text("jobs", 0, "key"), many.text("jobs", 1, "key")}
	for _, bulk := range []object{{"action": "retry"}, {"action": "block", "reason": "no"}, {"action": "cancel", "reason": "no"}} {
		a := w.as(w.owner, "POST", "/jobs/bulk", merge(object{"jobs": several}, bulk)).want(200)
		for i := range several {
			w.fresh("bulk", a.at("items", i, "body"))
		}
	}

	// The same call again.
	for range 2 {
		again := w.as(w.owner, "POST", "/jobs", object{"title": "once", "not_before": soon.Format(time.RFC3339Nano)}, "Idempotency-Key", "k1")
		w.fresh("creation", again.at())
		key = again.text("key")
	}
	act(key, "cancel", object{"reason": "no"})
	key = made(nil)
	for range 2 {
		w.fresh("claim", w.as(ada, "POST", "/fleet/claim", object{"request_id": "r1"}).want(200).at("jobs", 0))
	}
	act(key, "release", object{"reason": "mine"})
	act(key, "cancel", object{"reason": "no"})

	// What an agent reports, a person directs it to do, and what comes of its work.
	key, lease := working(object{"review_required": true})
	done := merge(lease, object{"summary": "done", "commit": "9be04d1", "result": object{"n": 1e2}})
	report("complete", done)
	report("complete", done) // its answer was lost
	act(key, "approve", object{"head": "9be04d1"})
	act(key, "merge-failed", object{"reason": "conflicts"})
	act(key, "reject", object{"reason": "no tests"})
	report("complete", merge(claimed(), object{"summary": "done", "commit": "9be04d2"}))
	act(key, "approve", nil)
	act(key, "merge", object{"commit": "9be04d3"})
	act(key, "archive", nil)
	_, lease = working(nil)
	report("complete", lease)
	key, lease = working(nil)
	failure := merge(lease, object{"error": "boom", "retryable": true})
	report("fail", failure)
	report("fail", failure)
	act(key, "cancel", object{"reason": "no"})
	_, lease = working(nil)
	report("fail", merge(lease, object{"error": "boom", "retryable": false}))
	key, lease = working(nil)
	report("release", merge(lease, object{"reason": "lunch", "checkpoint": object{"at": 2}}))
	lease = claimed()
	report("ask", merge(lease, object{"question": "24 or 48?"}))
	act(key, "answer", object{"answer": "48"})
	claimed()
	act(key, "pause", nil)
	act(key, "cancel", object{"reason": "no"})
	act(key, "release", object{"reason": "mine"})

	// The items of a batch.
	_, lease = working(nil)
	batch := w.as(ada, "POST", "/fleet/batch", object{"items": []object{merge(lease, object{"verb": "complete"})}}).want(200)
	w.fresh("batch complete", batch.at("items", 0, "body"))
}

// The end of a lease gives what a claim would give, where the call requests it.
func TestTheEndOfALeaseGivesTheNextJob(t *testing.T) {
	t.Parallel()
	for verb, words := range map[string]object{"complete": {}, "fail": {"error": "x"}, "release": {"reason": "x"}, "ask": {"question": "x"}} {
		w := newAPIServer(t)
		ada := w.agent("ada")
		w.job("First", object{"priority": 9})
		lease := w.claim(ada)
		second := w.job("Second", object{"priority": 10})
		end := merge(merge(lease, words), object{"next": object{"request_id": "r1", "ttl_seconds": 60}})
		first := w.as(ada, "POST", "/fleet/"+verb, end).want(200)
		w.fresh(verb, first.at("next", "jobs", 0))
		if key, ttl := first.text("next", "jobs", 0, "key"), first.number("next", "jobs", 0, "lease", "ttl_seconds"); key != second || ttl != 60 {
			t.Errorf("%s gave %s for %d s; want %s for 60: %s", verb, key, ttl, second, first.raw)
		}
		again := w.as(ada, "POST", "/fleet/"+verb, end).want(200)
		if again.text("next", "jobs", 0, "key") != second || again.number("next", "jobs", 0, "lease", "epoch") != 1 {
			t.Errorf("%s said again gave %s", verb, again.raw)
		}
		held := object{"job": second, "epoch": 1}
		if verb == "release" {
			w.as(ada, "POST", "/fleet/claim", object{}).want(200) // what was given back
		}
		last := w.as(ada, "POST", "/fleet/complete", merge(held, object{"next": object{}})).want(200)
		if last.text("next", "reason") != "empty" || last.count("next", "jobs") != 0 || last.text("next", "queue_version") == "" {
			t.Errorf("an empty queue gave %s", last.raw)
		}
		w.as(ada, "POST", "/fleet/complete", merge(held, object{"next": object{"max": 101}})).want(422).refused(fault.Validation, "next.max")
	}
}
