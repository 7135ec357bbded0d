package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestAQuestionAndItsAnswer(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.agent("ada", object{"max_concurrent_jobs": 1}), w.agent("bob")
	key := w.job("Choose")
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/ask", merge(ref, object{"question": ""})).want(422).refused(fault.Validation, "question")
	w.as(ada, "POST", "/fleet/ask", merge(ref, object{"question": strings.Repeat("x", 10_001)})).want(422).refused(fault.Validation, "question")
	w.as(bob, "POST", "/fleet/ask", merge(ref, object{"question": "Mine?"})).want(409).refused(fault.StaleEpoch)
	asked := w.as(ada, "POST", "/fleet/ask", merge(ref, object{"question": "Which database?", "checkpoint": object{"at": 7}})).want(200)
	if asked.text("status") != "blocked" || asked.text("question") != "Which database?" || asked.at("lease") != nil {
		t.Errorf("ask: %s", asked.raw)
	}
	if held := w.as(ada, "GET", "/agents/ada/jobs", nil).want(200); held.count("items") != 0 {
		t.Errorf("it still holds: %s", held.raw)
	}
	w.as(ada, "POST", "/fleet/ask", merge(ref, object{"question": "Again?"})).want(409).refused(fault.AlreadyEnded)
	w.as(ada, "POST", "/jobs/"+key+"/answer", object{"answer": "SQLite"}).want(403).refused(fault.Forbidden)
	w.as(w.owner, "POST", "/jobs/"+key+"/answer", object{"answer": ""}).want(422).refused(fault.Validation, "answer")
	answered := w.as(w.owner, "POST", "/jobs/"+key+"/answer", object{"answer": "PostgreSQL"}).want(200)
	if answered.text("status") != "ready" {
		t.Errorf("answer: %s", answered.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/answer", object{"answer": "SQLite"}).want(409).refused(fault.InvalidTransition)
	again := w.as(bob, "POST", "/fleet/claim", nil).want(200)
	if again.text("jobs", 0, "question") != "Which database?" || again.text("jobs", 0, "answer") != "PostgreSQL" ||
		again.number("jobs", 0, "checkpoint", "at") != 7 {
		t.Errorf("the next attempt: %s", again.raw)
	}
	attempts := w.as(w.owner, "GET", "/jobs/"+key+"/attempts", nil).want(200)
	if attempts.text("items", 1, "outcome") != "asked" {
		t.Errorf("attempts: %s", attempts.raw)
	}
}

func TestAMergeThatFails(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build", object{"review_required": true})
	w.as(ada, "POST", "/fleet/complete", w.claim(ada)).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/merge-failed", object{"reason": "too early"}).want(409).refused(fault.InvalidTransition)
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200)
	w.as(ada, "POST", "/jobs/"+key+"/approve", nil).want(403).refused(fault.Forbidden)
	w.as(w.owner, "POST", "/jobs/"+key+"/merge-failed", object{"reason": " "}).want(422).refused(fault.Validation, "reason")
	back := w.as(w.owner, "POST", "/jobs/"+key+"/merge-failed", object{"reason": "conflict in go.mod"}).want(200)
	if back.text("status") != "in_review" || back.text("last_error") != "conflict in go.mod" {
		t.Errorf("merge failed: %s", back.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", nil).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/merge", nil).want(200)
}

func TestOpenChildrenKeepTheirParentOpen(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	parent := w.job("Parent", object{"waits_for_children": true, "priority": 9})
	child := w.job("Child")
	w.as(w.owner, "POST", "/jobs/"+child+"/dependencies", object{"depends_on": parent, "type": "parent"}).want(200)
	ref := w.claim(ada)
	refusal := w.as(ada, "POST", "/fleet/complete", ref).want(409).refused(fault.ChildrenOpen)
	if refusal.text("children", 0) != child {
		t.Errorf("the refusal does not name the child: %s", refusal.raw)
	}
	if goes := w.as(ada, "POST", "/fleet/progress", ref).want(200); goes.text("directive") != "continue" {
		t.Errorf("the lease does not go on: %s", goes.raw)
	}
	w.as(ada, "POST", "/fleet/complete", w.claim(ada)).want(200)
	w.as(ada, "POST", "/fleet/complete", ref).want(200)
}

func TestAClaimSaysWhyItGivesNothing(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	why := func(want string) {
		t.Helper()
		none := w.as(ada, "POST", "/fleet/claim", nil).want(204)
		if got := none.header.Get("X-Claim-Reason"); got != want {
			t.Errorf("X-Claim-Reason %s; want %s", got, want)
		}
	}
	why("empty")
	atlas := object{"review_required": true, "review_limit": 1}
	w.as(w.owner, "PUT", "/products/atlas", atlas).want(201)
	w.job("One", object{"product": "atlas", "priority": 9})
	key := w.job("Two", object{"product": "atlas"})
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", ref).want(200)
	why("review_backlog")
	w.as(ada, "POST", "/fleet/claim", object{"job": key}).want(409).refused(fault.NotClaimable)
	w.as(w.owner, "PUT", "/products/atlas", merge(atlas, object{"paused": true})).want(200)
	why("paused")
	w.as(ada, "POST", "/fleet/claim", object{"job": key}).want(409).refused(fault.NotClaimable)
	w.as(w.owner, "PUT", "/products/atlas", atlas).want(200)
	first, _ := ref["job"].(string)
	w.as(w.owner, "POST", "/jobs/"+first+"/approve", nil).want(200)
	w.claim(ada)
	why("empty")
}

// Every call that keeps a lease gets a drain, and a warning goes before it.
func TestADrainIsToldEverywhere(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("Long", object{"estimated_minutes": 20})
	ref := w.claim(ada)
	told := func(want string) {
		t.Helper()
		for _, path := range []string{"/fleet/start", "/fleet/progress", "/fleet/renew"} {
			if a := w.as(ada, "POST", path, ref).want(200); a.text("directive") != want {
				t.Errorf("%s: %s; want %s", path, a.raw, want)
			}
		}
		beat := w.as(ada, "POST", "/agents/ada/heartbeat", object{"boot_id": "ada-boot", "status": "working"}).want(200)
		if beat.text("leases", 0, "directive") != want {
			t.Errorf("heartbeat: %s; want %s", beat.raw, want)
		}
	}
	told("continue")
	w.as(w.owner, "POST", "/factories/ada-host/drain", nil).want(200)
	told("drain")
	if _, err := dbtest.Owner(t, w.db).Exec(t.Context(), `UPDATE job_lease SET claimed_at = claimed_at - interval '1 hour'`); err != nil {
		t.Fatal(err)
	}
	if n, err := w.dispatch.Warn(t.Context()); n != 1 || err != nil {
		t.Fatalf("warn = %d, %v", n, err)
	}
	told("warn")
	w.as(ada, "POST", "/fleet/complete", ref).want(200)
}
