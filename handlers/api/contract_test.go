package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// All that is wrong with a call is reported at once: unknown fields, wrong types, values
// that do not fit, in the query and in the body.
func TestAllFaultsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "POST", "/jobs?colour=red", object{"title": "", "priority": "high", "max_retries": 1000, "tags": []string{""}, "taste": "sweet"}).
		want(400).refused(fault.Malformed, "colour", "title", "priority", "max_retries", "tags[0]", "taste")
	w.as(w.owner, "POST", "/jobs", object{"title": "", "max_retries": 1000}).want(422).refused(fault.Validation, "title", "max_retries")
}

// Null clears what can be empty; what cannot is refused by its name.
func TestNullClearsAField(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	gate := w.job("Gate")
	made := w.as(w.owner, "POST", "/jobs", object{"title": "Full", "body": "text", "phase": "M1", "priority": 9, "tags": []string{"a"}, "files": []string{"a/**"},
		"acceptance": []string{"works"}, "waits_for_children": true, "capabilities": []string{"gpu:h100"}, "factory": "mac-1", "repo": "free",
		"estimated_complexity": "high", "estimated_minutes": 30, "token_budget": 1000, "budget_usd": "2.5", "complexity": 4, "tier": "large", "not_before": "2099-01-01T00:00:00Z",
		"max_retries": 7, "review_required": true, "depends_on": []string{gate}}).want(201)
	key := made.text("key")
	patch := func(more object) object {
		now := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
		return merge(object{"version": now.number("version")}, more)
	}
	w.as(w.owner, "PATCH", "/jobs/"+key, patch(object{"acceptance_met": []bool{true}})).want(200)
	cleared := map[string]any{"acceptance_met": []any{false}, "body": "", "phase": "", "priority": 5, "tags": []any{}, "files": []any{},
		"acceptance": []any{}, "waits_for_children": false, "capabilities": []any{}, "factory": "", "repo": "",
		"estimated_complexity": "", "estimated_minutes": nil, "token_budget": nil, "budget_usd": nil, "complexity": nil, "tier": "", "not_before": nil, "depends_on": []any{},
		"max_retries": 3, "review_required": false}
	for field, want := range cleared {
		if field == "acceptance" {
			continue // after its ticks
		}
		after := w.as(w.owner, "PATCH", "/jobs/"+key, patch(object{field: nil})).want(200)
		again := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
		if got := encoded(t, after.at(field)); got != encoded(t, want) || encoded(t, again.at(field)) != got {
			t.Errorf("%s is %s after null, and read %s; want %s", field, got, encoded(t, again.at(field)), encoded(t, want))
		}
	}
	if after := w.as(w.owner, "PATCH", "/jobs/"+key, patch(object{"acceptance": nil})).want(200); after.count("acceptance") != 0 || after.text("status") != "ready" {
		t.Errorf("with nothing left that holds it: %s", after.raw)
	}
	w.as(w.owner, "PATCH", "/jobs/"+key, patch(object{"title": nil})).want(400).refused(fault.Malformed, "title")
}

// What a job may cost is a decimal, given back with all its places; how hard it is and
// its tier are kept as they are said.
func TestAJobsMoney(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key := w.as(w.owner, "POST", "/jobs", object{"title": "Dear", "budget_usd": "12.34", "complexity": 5, "tier": "small"}).want(201).text("key")
	now := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if now.text("budget_usd") != "12.340000000" || now.number("complexity") != 5 || now.text("tier") != "small" {
		t.Errorf("it was kept as %s", now.raw)
	}
	after := w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": now.number("version"), "budget_usd": "0.000000001", "tier": "large"}).want(200)
	if after.text("budget_usd") != "0.000000001" || after.number("complexity") != 5 || after.text("tier") != "large" {
		t.Errorf("it was edited to %s", after.raw)
	}
	for _, amount := range []string{"-1", "0.0000000001", "a", "1 dollar", "99999999999", "9999999999", "0"} {
		w.as(w.owner, "POST", "/jobs", object{"title": "x", "budget_usd": amount}).want(422).refused(fault.Validation, "budget_usd")
	}
	w.as(w.owner, "POST", "/jobs", object{"title": "x", "budget_usd": 12}).want(400).refused(fault.Malformed, "budget_usd")
	w.as(w.owner, "POST", "/jobs", object{"title": "x", "complexity": 6, "tier": "huge"}).want(422).refused(fault.Validation, "complexity", "tier")
}

// An edit sets all that a job waits for.
func TestAnEditReplacesDependencies(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	one, two, key := w.job("One"), w.job("Two"), w.job("Waits")
	patch := func(deps ...string) answer {
		now := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
		return w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": now.number("version"), "depends_on": deps})
	}
	if after := patch(one, two, one).want(200); after.text("wait_reason") != "dependency" || after.count("depends_on") != 2 {
		t.Errorf("with two: %s", after.raw)
	}
	if after := patch(two).want(200); after.text("wait_reason") != "dependency" || after.text("depends_on", 0) != two {
		t.Errorf("with one: %s", after.raw)
	}
	patch(two, "NOPE", key).want(422).refused(fault.Validation, "depends_on[1]", "depends_on[2]")
	w.as(w.owner, "PATCH", "/jobs/"+two, object{"version": 1, "depends_on": []string{key}}).want(409).refused(fault.DependencyCycle)
	if after := patch().want(200); after.text("status") != "ready" || after.count("depends_on") != 0 {
		t.Errorf("with none: %s", after.raw)
	}
}

// What a filter cannot find because it does not exist is refused.
func TestUnknownEventTypesAreRefused(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, call := range []string{"/events?type=job.created&type=job.vanished", "/events/stream?type=job.*&type=jobs.*"} {
		w.as(w.owner, "GET", call, nil).want(422).refused(fault.Validation, "type[1]")
	}
}

// A job that has cost more than its budget is paused as well, and says so.
func TestABudgetOfMoneyPauses(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Costly", object{"budget_usd": "0.10"})
	ref := w.claim(ada)
	tell := func(id, cost string) string {
		entry := object{"id": id, "provider": "house", "model": "m", "input_tokens": 1, "output_tokens": 0, "cost_usd": cost, "at": "2026-11-21T10:00:00Z"}
		w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{entry}})).want(200)
		return w.as(ada, "POST", "/fleet/progress", ref).want(200).text("directive")
	}
	if got := tell("one", "0.1"); got != "continue" {
		t.Errorf("at its budget: %s", got)
	}
	if got := tell("two", "0.000000001"); got != "pause" {
		t.Errorf("past its budget: %s", got)
	}
	w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "as asked"})).want(200)
	if why := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200); why.text("reasons", 0, "code") != "budget" {
		t.Errorf("it says %s", why.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(409).refused(fault.InvalidTransition)
	now := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": now.number("version"), "budget_usd": "0.2"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(200)
}

// A job that has used its budget is paused at the next contact, by the system, and
// goes on once its budget allows it.
func TestATokenBudgetPauses(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Costly", object{"token_budget": 1000})
	ref := w.claim(ada)
	spend := func(id string, tokens int) {
		entry := object{"id": id, "provider": "anthropic", "model": "m", "input_tokens": tokens, "output_tokens": 0, "cache_read_tokens": 1, "at": "2026-11-21T10:00:00Z"}
		w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{entry}})).want(200)
	}
	progress := func() answer { return w.as(ada, "POST", "/fleet/progress", ref).want(200) }
	spend("one", 999)
	if a := progress(); a.text("directive") != "continue" {
		t.Errorf("at its budget: %s", a.raw)
	}
	spend("two", 0)
	if a := progress(); a.text("directive") != "pause" {
		t.Fatalf("past its budget: %s", a.raw)
	}
	asked := w.as(w.owner, "GET", "/jobs/"+key+"/events?limit=1", nil).want(200)
	if asked.text("items", 0, "type") != "job.pause_requested" || asked.text("items", 0, "actor") != "budget" ||
		asked.text("items", 0, "actor_kind") != "system" || asked.text("items", 0, "payload", "reason") != "budget" {
		t.Errorf("the event: %s", asked.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(409).refused(fault.InvalidTransition)
	w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "as asked"})).want(200)
	why := w.as(w.owner, "GET", "/jobs/"+key+"/explanation", nil).want(200)
	if why.text("status") != "paused" || why.text("reasons", 0, "code") != "budget" {
		t.Errorf("explanation: %s", why.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(409).refused(fault.InvalidTransition)
	now := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": now.number("version"), "token_budget": 2000}).want(200)
	if resumed := w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(200); resumed.text("status") != "ready" {
		t.Errorf("resumed: %s", resumed.raw)
	}
	ref = w.claim(ada)
	spend("three", 5000)
	now = w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": now.number("version"), "token_budget": nil}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(200)
	if a := progress(); a.text("directive") != "continue" {
		t.Errorf("without a budget: %s", a.raw)
	}
}

// A job that goes on past its budget without being resumed, such as by a retry, is
// paused as soon as somebody starts it.
func TestAUsedBudgetPausesAtTheStart(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Costly", object{"token_budget": 10})
	ref := w.claim(ada)
	entry := object{"id": "one", "provider": "anthropic", "model": "m", "input_tokens": 11, "output_tokens": 0, "at": "2026-11-21T10:00:00Z"}
	w.as(ada, "POST", "/fleet/fail", merge(ref, object{"error": "broke"})).want(200)
	w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{entry}})).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/retry", nil).want(200)
	ref = w.claim(ada)
	w.as(ada, "POST", "/fleet/start", ref).want(200)
	if a := w.as(ada, "POST", "/fleet/progress", ref).want(200); a.text("directive") != "pause" {
		t.Errorf("progress: %s", a.raw)
	}
}

// A pause that the agent has not acknowledged is withdrawn by a resume; a cancel is not.
func TestAPauseIsWithdrawn(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Goes on")
	ref := w.claim(ada)
	w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(409).refused(fault.InvalidTransition)
	w.as(w.owner, "POST", "/jobs/"+key+"/pause", nil).want(200)
	if after := w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(200); after.text("lease", "directive") != "" {
		t.Errorf("withdrawn: %s", after.raw)
	}
	if a := w.as(ada, "POST", "/fleet/progress", ref).want(200); a.text("directive") != "continue" {
		t.Errorf("progress: %s", a.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/cancel", object{"reason": "enough"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/resume", nil).want(409).refused(fault.InvalidTransition)
	types := w.as(w.owner, "GET", "/jobs/"+key+"/events", nil).want(200)
	var seen []string
	for i := range types.count("items") {
		seen = append(seen, types.text("items", i, "type"))
	}
	slices.Reverse(seen)
	if want := []string{"job.created", "job.claimed", "job.pause_requested", "job.resumed", "job.started", "job.cancel_requested"}; !slices.Equal(seen, want) {
		t.Errorf("events %v; want %v", seen, want)
	}
}

// What a person takes back is no loss.
func TestAReclaimIsNoLoss(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Taken", object{"max_lost": 0})
	ref := w.claim(ada)
	w.as(w.owner, "POST", "/reclaim", object{"job": key}).want(200)
	now := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if now.text("status") != "ready" || now.number("lost_count") != 0 {
		t.Errorf("reclaimed: %s", now.raw)
	}
	if attempts := w.as(w.owner, "GET", "/jobs/"+key+"/attempts", nil).want(200); attempts.text("items", 0, "outcome") != "released" {
		t.Errorf("attempts: %s", attempts.raw)
	}
	w.as(ada, "POST", "/fleet/complete", ref).want(409).refused(fault.LeaseExpired)
}

// A person completes what nobody holds; jobs that wait for it can start.
func TestAPersonCompletesAJob(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("By hand")
	child := w.job("Next", object{"depends_on": []string{key}})
	w.as(w.owner, "POST", "/jobs/"+key+"/complete", object{}).want(422).refused(fault.Validation, "reason")
	w.as(ada, "POST", "/jobs/"+key+"/complete", object{"reason": "mine"}).want(403).refused(fault.Forbidden)
	ref := w.claim(ada)
	w.as(w.owner, "POST", "/jobs/"+key+"/complete", object{"reason": "done"}).want(409).refused(fault.InvalidTransition)
	w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "later"})).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/pause", nil).want(200)
	done := w.as(w.owner, "POST", "/jobs/"+key+"/complete", object{"reason": "done by hand", "result": object{"n": 1}}).want(200)
	now := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if done.text("status") != "completed" || now.number("result", "n") != 1 || now.at("completed_at") == nil {
		t.Errorf("completed: %s, read again %s", done.raw, now.raw)
	}
	if next := w.as(w.owner, "GET", "/jobs/"+child, nil).want(200); next.text("status") != "ready" {
		t.Errorf("what waited for it: %s", next.raw)
	}
	event := w.as(w.owner, "GET", "/jobs/"+key+"/events?limit=1", nil).want(200)
	if event.text("items", 0, "type") != "job.completed" || event.text("items", 0, "payload", "reason") != "done by hand" {
		t.Errorf("event: %s", event.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/complete", object{"reason": "again"}).want(409).refused(fault.InvalidTransition)
}

// What went wrong is in the job's log, and the next claim says from whom it takes over.
func TestTheLogTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Hard")
	fail := func(over object) answer {
		return w.as(ada, "POST", "/fleet/fail", merge(w.claim(ada), merge(object{"error": "too many", "retryable": true}, over)))
	}
	w.as(ada, "POST", "/fleet/fail", object{"job": key, "epoch": 1, "error": "x", "kind": "tired"}).want(422).refused(fault.Validation, "kind")
	w.as(ada, "POST", "/fleet/fail", object{"job": key, "epoch": 1, "error": "x", "kind": "crash", "retry_after_seconds": 5}).
		want(422).refused(fault.Validation, "retry_after_seconds")
	failed := fail(object{"kind": "rate_limited", "retry_after_seconds": 7200}).want(200)
	at, err := time.Parse(time.RFC3339Nano, failed.text("not_before"))
	began, _ := time.Parse(time.RFC3339Nano, failed.text("updated_at"))
	if wait := at.Sub(began); err != nil || wait < 7100*time.Second || wait > 7300*time.Second {
		t.Errorf("it waits for %s; want two hours", wait)
	}
	w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": failed.number("version"), "not_before": nil}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/cancel", object{"reason": "now"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/retry", object{}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/release", object{"reason": "mine"}).want(409)
	w.claim(ada)
	w.as(w.owner, "POST", "/jobs/"+key+"/release", object{"reason": "mine"}).want(200)
	said := w.as(w.owner, "GET", "/jobs/"+key+"/logs", nil).want(200).raw
	for _, line := range []string{"The host could not work on it: too many", "The job was taken back: mine"} {
		if !strings.Contains(string(said), line) {
			t.Errorf("the log does not say %q: %s", line, said)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM job_log WHERE level = 'ERROR'`); n != 2 {
		t.Errorf("%d errors are in the log; want 2", n)
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE type = 'job.claimed' AND (epoch = 1 AND NOT payload ? 'former_agent'
		OR epoch = 2 AND payload->>'former_agent' = 'ada' AND (payload->>'former_epoch')::int = 1)`); n != 2 {
		t.Errorf("%d claims name who had the job before; want both", n)
	}
}

// encoded returns a value as JSON.
func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
