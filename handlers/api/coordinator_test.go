package api_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/fault"
)

func TestCoordinatorStatus(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	a := w.as(w.owner, "GET", "/coordinator/status", nil).want(200)
	if a.body["active"] != false || a.body["last_cycle_at"] != nil || a.text("instance_id") != "" || a.number("term") != 0 {
		t.Errorf("before anybody led: %s", a.raw)
	}
	if a.text("transport", "name") != transporttest.Name(t) || a.number("transport", "poll_seconds") != 2 ||
		a.at("transport", "fallback") == a.at("transport", "connected") {
		t.Errorf("how it is woken: %s", a.raw)
	}
	dbfactory.Exec(t, w.db, `INSERT INTO leadership (name, holder, term, expires_at, last_cycle_at, cycle_count, stats)
		VALUES ('coordinator', 'mac/17/ab', 3, now() + interval '10 seconds', now(), 41, '{"jobs_promoted": 5}')`)
	a = w.as(w.owner, "GET", "/coordinator/status", nil).want(200)
	if a.body["active"] != true || a.text("instance_id") != "mac/17/ab" || a.number("term") != 3 ||
		a.number("cycle_count") != 41 || a.number("stats", "jobs_promoted") != 5 || a.text("last_cycle_at") == "" {
		t.Errorf("while one leads: %s", a.raw)
	}
	if servers, is := a.at("servers").([]any); !is || len(servers) != 0 {
		t.Errorf("servers, where none has said that it lives: %s", a.raw)
	}
	w.as(w.agent("ada"), "GET", "/coordinator/status", nil).want(403).refused(fault.Forbidden)
	w.as(w.enrolment, "GET", "/coordinator/status", nil).want(403).refused(fault.Forbidden)
	dbfactory.Exec(t, w.db, `UPDATE leadership SET expires_at = now()`)
	if a = w.as(w.owner, "GET", "/coordinator/status", nil).want(200); a.body["active"] != false || a.number("term") != 3 {
		t.Errorf("after the lease: %s", a.raw)
	}
}

// The workspace's own numbers stand beside those of the coordinator.
func TestCoordinatorStatusCountsJobsAndAgents(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	other := w.otherWorkspace()
	for _, name := range []string{"ada", "bob", "cyd", "dan", "eve", "fay"} {
		w.agent(name)
	}
	w.as(w.agent("gus"), "POST", "/agents/gus/end", nil).want(204)
	for name, seconds := range map[string]int{"bob": 45, "cyd": 200, "dan": 5000} {
		dbfactory.Exec(t, w.db, `UPDATE agent SET heartbeat_interval_seconds = 10, stale_after_seconds = NULL,
			last_heartbeat_at = now() - make_interval(secs => $2) WHERE name = $1`, name, seconds)
	}
	w.as(w.owner, "POST", "/agents/eve/terminate", object{"reason": "over"}).want(200)
	w.as(w.owner, "POST", "/agents/fay/terminate", object{"reason": "over", "graceful": true}).want(200)
	w.job("one")
	w.job("two", object{"depends_on": []string{w.job("three")}})

	a := w.as(w.owner, "GET", "/coordinator/status", nil).want(200)
	if got := fmt.Sprint(a.at("agents_by_health")); got != "map[dead:2 ended:1 healthy:2 stale:1 warn:1]" {
		t.Errorf("agents by health: %s", got)
	}
	if a.number("jobs_by_status", "ready") != 2 || a.number("jobs_by_status", "waiting") != 1 || a.number("jobs_by_status", "failed") != 0 {
		t.Errorf("jobs by status: %s", a.raw)
	}
	a = w.as(other, "GET", "/coordinator/status", nil).want(200)
	if got := fmt.Sprint(a.at("agents_by_health")); got != "map[dead:0 ended:0 healthy:0 stale:0 warn:0]" || a.number("jobs_by_status", "ready") != 0 {
		t.Errorf("another workspace: %s", a.raw)
	}
}

func TestRecoverDoesTheWorkOfOneWorkspace(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Build")
	w.claim(ada)
	dbfactory.Exec(t, w.db, `UPDATE job_lease SET expires_at = now() - interval '1 second'`)
	w.as(ada, "POST", "/coordinator/recover", nil).want(403).refused(fault.Forbidden)
	if a := w.as(w.otherWorkspace(), "POST", "/coordinator/recover", nil).want(200); a.number("leases_taken_back") != 0 {
		t.Errorf("another workspace's lease was taken back: %s", a.raw)
	}
	if a := w.as(w.owner, "POST", "/coordinator/recover", nil).want(200); a.number("leases_taken_back") != 1 {
		t.Errorf("recover: %s", a.raw)
	}
	if a := w.as(w.owner, "POST", "/coordinator/recover", nil).want(200); a.number("leases_taken_back") != 0 {
		t.Errorf("recover again: %s", a.raw)
	}
	if a := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); a.text("status") != "ready" {
		t.Errorf("the job: %s", a.raw)
	}
}

func TestCoordinatorLogs(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	other := w.otherWorkspace()
	dbfactory.Exec(t, w.db, `INSERT INTO coordinator_log (workspace_id, instance_id, term, level, message, details)
		SELECT CASE WHEN n % 2 = 0 THEN (SELECT id FROM workspace WHERE slug = 'other') END, 'mac/17/ab', 3, 'INFO', 'line ' || n, '{"n": 1}'
		FROM generate_series(1, 7) n`)
	var seen []string
	for cursor := ""; ; {
		path := "/coordinator/logs?limit=2"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		a := w.as(w.owner, "GET", path, nil).want(200)
		for i := range a.count("items") {
			seen = append(seen, a.text("items", i, "message"))
		}
		if cursor = a.text("next_cursor"); cursor == "" {
			break
		}
	}
	if fmt.Sprint(seen) != "[line 7 line 5 line 3 line 1]" {
		t.Errorf("a workspace reads %v; want the server's lines, newest first", seen)
	}
	if a := w.as(other, "GET", "/coordinator/logs?limit=200", nil).want(200); a.count("items") != 7 {
		t.Errorf("the other workspace reads %s", a.raw)
	}
	w.as(w.agent("ada"), "GET", "/coordinator/logs", nil).want(403).refused(fault.Forbidden)
	for _, cursor := range []string{"x", "0", "-1", "99999999999999999999"} {
		w.as(w.owner, "GET", "/coordinator/logs?cursor="+cursor, nil).want(422).refused(fault.Validation)
	}
}

// What the database lacks is in the status of its workspace alone, until an owner or admin says that it is known.
func TestLossesAreInTheStatus(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	other := w.otherWorkspace()
	dbfactory.Exec(t, w.db, `INSERT INTO log_loss (workspace_id, noticed_by, events, event_count, first_event, last_event)
		SELECT workspace_id, 'mac/17/ab', '[{"ID": 7, "At": "2026-03-01T12:00:00Z", "Type": "job.completed", "Key": "FB-1"}]', 1, 7, 7
		FROM product p JOIN workspace w ON w.id = p.workspace_id WHERE w.slug = 'default' LIMIT 1`)
	dbfactory.Exec(t, w.db, `INSERT INTO database_proof (kind, system, timeline, done_at, jobs) VALUES ('promoted', '1', 2, now(), 5)`)
	a := w.as(w.owner, "GET", "/coordinator/status", nil).want(200)
	if fmt.Sprint(a.at("losses")) == "[]" || fmt.Sprint(a.at("proofs")) == "[]" {
		t.Errorf("the status is %s", a.raw)
	}
	if got := fmt.Sprint(w.as(other, "GET", "/coordinator/status", nil).want(200).at("losses")); got != "[]" {
		t.Errorf("another workspace sees %s", got)
	}
	for _, want := range []int{1, 0} {
		if a := w.as(w.owner, "POST", "/coordinator/losses/note", nil).want(200); int(a.number("noted")) != want {
			t.Errorf("noted: %s; want %d", a.raw, want)
		}
	}
}
