package api_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestBulkAnswersEachJob(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for i := range 4 {
		w.job("one", object{"key": fmt.Sprintf("FB-%d", i)})
	}
	w.as(w.owner, "POST", "/jobs/FB-1/cancel", object{"reason": "no"}).want(200)
	bulk := object{"jobs": []string{"FB-0", "FB-1", "FB-9", "FB-2"}, "action": "block", "reason": "no contract"}
	a := w.as(w.owner, "POST", "/jobs/bulk", bulk).want(200)
	for i, want := range []string{"FB-0 200 blocked", "FB-1 409 409", "FB-9 404 404", "FB-2 200 blocked"} {
		got := fmt.Sprintf("%s %d %v", a.text("items", i, "job"), a.number("items", i, "status"), a.at("items", i, "body", "status"))
		if got != want {
			t.Errorf("item %d: %s; want %s", i, got, want)
		}
	}
	if a.text("items", 1, "body", "code") != string(fault.InvalidTransition) || a.text("items", 2, "body", "code") != string(fault.NotFound) {
		t.Errorf("refusals: %s", a.raw)
	}
	if reason := w.as(w.owner, "GET", "/jobs/FB-2", nil).text("blocked_reason"); reason != "no contract" {
		t.Errorf("the reason is %q", reason)
	}
	w.as(w.agent("ada"), "POST", "/jobs/bulk", bulk).want(403).refused(fault.Forbidden)
	w.as(w.otherWorkspace(), "POST", "/jobs/bulk", object{"jobs": []string{"FB-3"}, "action": "pause"}).want(200)
	if status := w.as(w.owner, "GET", "/jobs/FB-3", nil).text("status"); status != "ready" {
		t.Errorf("another workspace's bulk made the job %s", status)
	}
}

func TestBulkRefusesWhatItCannotBe(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	many := make([]string, 501)
	for i := range many {
		many[i] = fmt.Sprintf("FB-%d", i)
	}
	for field, body := range map[string]object{
		"jobs":    {"jobs": many, "action": "pause"},
		"jobs[1]": {"jobs": []string{"FB-1", "FB-1"}, "action": "pause"},
		"action":  {"jobs": []string{"FB-1"}, "action": "explode"},
		"reason":  {"jobs": []string{"FB-1"}, "action": "block"},
		"answer":  {"jobs": []string{"FB-1"}, "action": "pause", "answer": "48"},
	} {
		w.as(w.owner, "POST", "/jobs/bulk", body).want(422).refused(fault.Validation, field)
	}
	if a := w.as(w.owner, "POST", "/jobs/bulk", object{"jobs": many[:500], "action": "pause"}).want(200); a.count("items") != 500 {
		t.Errorf("%d answers; want 500", a.count("items"))
	}
}

// The same bulk again changes no job that it changed before, and tries the others again.
func TestBulkIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.job("one", object{"key": "FB-1"})
	w.job("two", object{"key": "FB-2"})
	w.as(w.owner, "POST", "/jobs/FB-2/pause", nil).want(200)
	bulk := object{"jobs": []string{"FB-1", "FB-2"}, "action": "cancel", "reason": "over"}
	retry := object{"jobs": []string{"FB-1", "FB-2"}, "action": "retry"}
	w.as(w.owner, "POST", "/jobs/bulk", bulk, "Idempotency-Key", "k1").want(200)
	w.as(w.owner, "POST", "/jobs/FB-1/retry", nil).want(200)
	again := w.as(w.owner, "POST", "/jobs/bulk", bulk, "Idempotency-Key", "k1").want(200)
	if again.header.Get("Idempotent-Replayed") != "true" || again.text("items", 0, "body", "status") != "ready" ||
		again.number("items", 1, "status") != 200 {
		t.Errorf("the same bulk again: %s", again.raw)
	}
	w.as(w.owner, "POST", "/jobs/bulk", retry, "Idempotency-Key", "k1").want(422).refused(fault.IdempotencyKeyReused)
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE type = 'job.cancelled'`); n != 2 {
		t.Errorf("%d jobs were cancelled; want 2", n)
	}
	first := w.as(w.owner, "POST", "/jobs/bulk", retry, "Idempotency-Key", "k2").want(200)
	if first.number("items", 0, "status") != 409 || first.number("items", 1, "status") != 200 {
		t.Errorf("retry: %s", first.raw)
	}
	w.as(w.owner, "POST", "/jobs/FB-1/cancel", object{"reason": "over"}).want(200)
	if a := w.as(w.owner, "POST", "/jobs/bulk", retry, "Idempotency-Key", "k2").want(200); a.number("items", 0, "status") != 200 {
		t.Errorf("what was refused is tried again: %s", a.raw)
	}
}
