package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestAgentDoesAJob(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build", object{"repo": "atlas", "review_required": true, "input_context": object{"command": "make"}})

	got := w.as(ada, "POST", "/fleet/claim", object{"ttl_seconds": 60, "request_id": "r1"}).want(200)
	if got.text("jobs", 0, "key") != key || got.number("jobs", 0, "lease", "epoch") != 1 || got.text("queue_version") == "" ||
		got.text("jobs", 0, "input_context", "command") != "make" {
		t.Fatalf("claim: %s", got.raw)
	}
	again := w.as(ada, "POST", "/fleet/claim", object{"request_id": "r1"}).want(200)
	if again.number("jobs", 0, "lease", "epoch") != 1 {
		t.Errorf("the same request got another lease: %s", again.raw)
	}
	ref := object{"job": key, "epoch": 1}
	if a := w.as(ada, "POST", "/fleet/start", ref).want(200); a.text("directive") != "continue" {
		t.Errorf("start: %s", a.raw)
	}
	w.as(ada, "POST", "/fleet/progress", merge(ref, object{"progress_percent": 40, "current_step": "tests", "checkpoint": object{"at": 3}})).want(200)
	w.as(ada, "POST", "/fleet/renew", merge(ref, object{"ttl_seconds": 600})).want(200)
	beat := w.as(ada, "POST", "/agents/ada/heartbeat", object{"boot_id": "ada-boot", "status": "working", "memory_mb": 512,
		"cpu_percent": 12.5, "leases": []object{merge(ref, object{"progress_percent": 50}), {"job": "NOPE", "epoch": 4}}}).want(200)
	if beat.count("leases") != 2 || beat.text("leases", 0, "directive") != "continue" || beat.text("leases", 1, "directive") != "fenced" {
		t.Errorf("heartbeat: %s", beat.raw)
	}
	held := w.as(w.owner, "GET", "/agents/ada/jobs", nil).want(200)
	if held.number("items", 0, "progress_percent") != 50 || held.text("items", 0, "status") != "running" {
		t.Errorf("held jobs: %s", held.raw)
	}

	done := merge(ref, object{"summary": "built", "commit": "abc123", "branch": "fleet/x", "result": object{"n": 1}})
	first := w.as(ada, "POST", "/fleet/complete", done).want(200)
	if first.text("status") != "in_review" || first.text("result", "commit") != "abc123" {
		t.Errorf("complete: %s", first.raw)
	}
	w.as(ada, "POST", "/fleet/complete", done).want(200)
	w.as(ada, "POST", "/fleet/complete", merge(done, object{"commit": "other"})).want(409).refused(fault.AlreadyEnded)
}

func TestReviewedJobIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build", object{"review_required": true})
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", ref).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/reject", object{"reason": "no tests"}).want(200)
	second := w.as(ada, "POST", "/fleet/claim", nil).want(200)
	if second.text("jobs", 0, "feedback") != "no tests" || second.number("jobs", 0, "lease", "epoch") != 2 {
		t.Errorf("second claim: %s", second.raw)
	}
	w.as(ada, "POST", "/fleet/progress", ref).want(409).refused(fault.AlreadyEnded)
	w.as(ada, "POST", "/fleet/complete", object{"job": key, "epoch": 2, "commit": "def"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/approve", object{"head": "def"}).want(200)
	if merged := w.as(w.owner, "POST", "/jobs/"+key+"/merge", object{"commit": "fff", "url": "https://example.org/1"}).want(200); merged.text("status") != "completed" {
		t.Errorf("merge: %s", merged.raw)
	}
	attempts := w.as(w.owner, "GET", "/jobs/"+key+"/attempts?limit=1", nil).want(200)
	if attempts.number("items", 0, "epoch") != 2 || attempts.text("items", 0, "outcome") != "completed" {
		t.Errorf("attempts: %s", attempts.raw)
	}
	rest := w.as(w.owner, "GET", "/jobs/"+key+"/attempts?cursor="+attempts.text("next_cursor"), nil).want(200)
	if rest.count("items") != 1 || rest.number("items", 0, "epoch") != 1 || rest.text("next_cursor") != "" {
		t.Errorf("rest of the attempts: %s", rest.raw)
	}
}

func TestLeasesEnd(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")

	w.job("Fails", object{"retry_backoff_seconds": 3600})
	ref := w.claim(ada)
	failed := w.as(ada, "POST", "/fleet/fail", merge(ref, object{"error": "boom", "kind": "checks_failed", "retryable": true})).want(200)
	if failed.text("status") != "waiting" || failed.text("wait_reason") != "retry_backoff" || failed.number("failure_count") != 1 {
		t.Errorf("fail: %s", failed.raw)
	}
	key := w.job("Comes back")
	ref = w.claim(ada)
	released := w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "later", "checkpoint": object{"n": 1}})).want(200)
	if released.text("status") != "ready" || released.number("checkpoint", "n") != 1 {
		t.Errorf("release: %s", released.raw)
	}
	w.as(ada, "POST", "/fleet/start", ref).want(409).refused(fault.AlreadyEnded)

	w.claim(ada)
	if taken := w.as(w.owner, "POST", "/jobs/"+key+"/release", object{"reason": "mine"}).want(200); taken.text("status") != "ready" {
		t.Errorf("taken back: %s", taken.raw)
	}
	w.claim(ada)
	if n := w.as(w.owner, "POST", "/reclaim", object{"job": key}).want(200).number("released"); n != 1 {
		t.Errorf("%d leases reclaimed, want 1", n)
	}
	if n := w.as(w.owner, "POST", "/reclaim", nil).want(200).number("released"); n != 0 {
		t.Errorf("%d leases reclaimed, want 0", n)
	}
	w.as(ada, "POST", "/fleet/claim", object{"job": "NOPE"}).want(404).refused(fault.NotFound)
	gpu := w.job("Elsewhere", object{"capabilities": []string{"gpu:h100"}})
	w.as(ada, "POST", "/fleet/claim", object{"job": gpu}).want(409).refused(fault.NotClaimable)
}

func TestDirectivesReachTheAgent(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	for verb, code := range map[string]fault.Code{"pause": fault.Paused, "cancel": fault.Cancelled} {
		key := w.job("To " + verb)
		ref := w.claim(ada)
		asked := w.as(w.owner, "POST", "/jobs/"+key+"/"+verb, map[string]any{"pause": nil, "cancel": object{"reason": "enough"}}[verb]).want(200)
		if asked.text("lease", "directive") != verb {
			t.Errorf("%s: %s", verb, asked.raw)
		}
		if a := w.as(ada, "POST", "/fleet/progress", ref).want(200); a.text("directive") != verb {
			t.Errorf("%s: %s", verb, a.raw)
		}
		w.as(ada, "POST", "/fleet/release", merge(ref, object{"reason": "as asked"})).want(200)
		w.as(ada, "POST", "/fleet/complete", ref).want(409).refused(code)
	}
}

func TestTwoBootsOfOneAgent(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	old := w.agent("ada")
	key := w.job("Held")
	ref := w.claim(old)
	w.agent("ada", object{"boot_id": "second"})
	if job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); job.text("status") != "ready" || job.at("lease") != nil {
		t.Errorf("the first boot's job: %s", job.raw)
	}
	w.as(old, "POST", "/fleet/claim", nil).want(409).refused(fault.Superseded)
	w.as(old, "POST", "/agents/ada/heartbeat", object{"boot_id": "ada-boot", "status": "idle"}).want(409).refused(fault.Superseded)
	w.as(old, "POST", "/fleet/complete", ref).want(409)
}

func TestAgentsActAsThemselves(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada, bob := w.agent("ada"), w.agent("bob")
	w.as(bob, "POST", "/agents/ada/heartbeat", object{"boot_id": "ada-boot", "status": "idle"}).want(403).refused(fault.Forbidden)
	w.as(w.enrolment, "PUT", "/agents/ada", object{"name": "bob", "boot_id": "b", "factory": object{"name": "h"}}).
		want(422).refused(fault.Validation, "name")
	key := w.job("Ada's", object{"factory": "ada-host"})
	ref := w.claim(ada)
	w.as(bob, "POST", "/fleet/complete", ref).want(409)
	if job := w.as(bob, "GET", "/jobs/"+key, nil).want(200); job.text("lease", "agent") != "ada" {
		t.Errorf("job: %s", job.raw)
	}
}

func TestFleetIsShown(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.agent("ada")
	bob := w.agent("bob")
	page := w.as(w.owner, "GET", "/agents?limit=1", nil).want(200)
	if page.text("items", 0, "name") != "ada" || page.text("items", 0, "health") != "healthy" {
		t.Errorf("agents: %s", page.raw)
	}
	if rest := w.as(w.owner, "GET", "/agents?cursor="+page.text("next_cursor"), nil).want(200); rest.text("items", 0, "name") != "bob" || rest.count("items") != 1 {
		t.Errorf("rest of the agents: %s", rest.raw)
	}
	if health := w.as(bob, "GET", "/agents/ada/health", nil).want(200); health.text("health") != "healthy" {
		t.Errorf("health: %s", health.raw)
	}
	if one := w.as(bob, "GET", "/agents/ada", nil).want(200); one.text("factory") != "ada-host" {
		t.Errorf("agent: %s", one.raw)
	}
	factories := w.as(w.owner, "GET", "/factories", nil).want(200)
	if factories.count("items") != 2 || factories.text("items", 0, "agents", 0, "name") != "ada" || factories.number("items", 0, "seats_free") != 10 {
		t.Errorf("factories: %s", factories.raw)
	}
	_, viewer := w.guest()
	for name, token := range map[string]string{"owner": w.owner, "agent": bob, "viewer": viewer} {
		for _, path := range []string{"/agents", "/agents/ada", "/factories", "/factories/ada-host", "/events"} {
			shown := strings.Contains(string(w.as(token, "GET", path, nil).want(200).raw), "ada-boot")
			if shown != (name == "owner" && path != "/events") {
				t.Errorf("boot ids in %s for the %s: %t", path, name, shown)
			}
		}
	}
	w.job("Somewhere")
	if drained := w.as(w.owner, "POST", "/factories/bob-host/drain", nil).want(200); drained.at("draining") != true {
		t.Errorf("drain: %s", drained.raw)
	}
	none := w.as(bob, "POST", "/fleet/claim", nil).want(204)
	if none.header.Get("X-Claim-Reason") != "draining" || none.header.Get("X-Queue-Version") == "" {
		t.Errorf("claim while draining: %v", none.header)
	}
	w.as(w.owner, "DELETE", "/factories/bob-host", nil).want(409).refused(fault.InUse)
	w.as(w.owner, "POST", "/factories/bob-host/undrain", object{}).want(200)
	if f := w.as(w.owner, "GET", "/factories/bob-host", nil).want(200); f.at("draining") != false {
		t.Errorf("factory: %s", f.raw)
	}
	w.claim(bob)
	if ended := w.as(w.owner, "POST", "/agents/bob/terminate", object{"reason": "done", "graceful": false}).want(200); ended.at("terminated") != true {
		t.Errorf("terminate: %s", ended.raw)
	}
	w.as(w.owner, "DELETE", "/factories/bob-host", nil).want(204)
	w.as(w.owner, "GET", "/agents/bob", nil).want(404).refused(fault.NotFound)
	w.as(w.owner, "DELETE", "/factories/bob-host", nil).want(404).refused(fault.NotFound)
	for _, path := range []string{"/agents/nobody", "/agents/nobody/health", "/agents/nobody/jobs", "/factories/nobody"} {
		w.as(w.owner, "GET", path, nil).want(404).refused(fault.NotFound)
	}
	w.as(w.owner, "GET", "/agents?cursor=!", nil).want(422).refused(fault.Validation, "cursor")
}

func TestQueueStateIsConditional(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.as(ada, "POST", "/fleet/claim", nil).want(204)
	state := w.as(ada, "GET", "/fleet/queue-state", nil).want(200)
	tag := state.header.Get("ETag")
	if tag != `"`+state.text("version")+`"` {
		t.Errorf("ETag %s of version %s", tag, state.text("version"))
	}
	w.as(ada, "GET", "/fleet/queue-state", nil, "If-None-Match", tag).want(304)
	w.as(ada, "GET", "/fleet/queue-state", nil, "If-None-Match", `"x", W/`+tag).want(304)
	w.as(ada, "GET", "/fleet/queue-state", nil, "If-None-Match", `"x"`).want(200)
	w.job("News")
	w.as(ada, "POST", "/fleet/claim", nil).want(200)
	w.as(ada, "GET", "/fleet/queue-state", nil, "If-None-Match", tag).want(200)
}

func TestLongPollWakes(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.as(ada, "POST", "/fleet/claim", nil).want(204)
	w.arrive("ada")

	woken := make(chan answer, 1)
	go func() { woken <- w.as(ada, "POST", "/fleet/claim", object{"wait_seconds": 50}) }()
	w.arrive("ada")
	key := w.job("Wake up")
	got := <-woken
	if got.status != http.StatusOK || got.text("jobs", 0, "key") != key {
		t.Fatalf("long poll: %d %s", got.status, got.raw)
	}
}

// TestLongPollOutlivesTheServersTimeouts: those are for slow senders and
// readers, not for an agent that waits.
func TestLongPollOutlivesTheServersTimeouts(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	strict := httptest.NewUnstartedServer(w.handler)
	strict.Config.ReadTimeout, strict.Config.WriteTimeout = time.Second, time.Second
	strict.Start()
	defer strict.Close()
	began := time.Now()
	exchange(t, strict.URL, request{token: ada, method: "POST", path: "/fleet/claim", body: object{"wait_seconds": 3}}).want(204)
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("it was answered after %s", took)
	}
}

func TestLongPollEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(gone)
		w.send(request{token: ada, method: "POST", path: "/fleet/claim", body: object{"wait_seconds": 50}, ctx: ctx})
	}()
	w.arrive("ada")
	cancel()
	<-gone
	for <-w.left != "/api/v1/fleet/claim" {
		continue
	}
	if took := time.Since(began); took > 40*time.Second { // it would wait for 50
		t.Errorf("the server went on for %s", took)
	}
}

func TestEndedTokens(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	owner := dbtest.Owner(t, w.db)
	w.as(w.owner[:len(w.owner)-1], "GET", "/stats", nil).want(401).refused(fault.TokenInvalid)
	if _, err := owner.Exec(t.Context(), `UPDATE access_token SET expires_at = now() - interval '1 second' WHERE kind = 'enrolment'`); err != nil {
		t.Fatal(err)
	}
	w.as(w.enrolment, "PUT", "/agents/ada", object{"boot_id": "b", "factory": object{"name": "h"}}).want(401).refused(fault.TokenExpired)
	if _, err := owner.Exec(t.Context(), `UPDATE access_token SET revoked_at = now() WHERE kind = 'person'`); err != nil {
		t.Fatal(err)
	}
	ended := w.as(w.owner, "GET", "/stats", nil).want(401).refused(fault.TokenRevoked)
	if ended.header.Get("WWW-Authenticate") == "" {
		t.Error("no WWW-Authenticate")
	}
}
