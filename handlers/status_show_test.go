package handlers

import (
	"encoding/json"
	"net/http"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/coordinator"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// leads writes down that somebody coordinates, or did.
func leads(t *testing.T, d *desk, lease, lastCycle string) {
	t.Helper()
	dbfactory.Exec(t, d.db, `INSERT INTO leadership (name, holder, term, expires_at, last_cycle_at, cycle_count, stats)
		VALUES ('coordinator', 'mac-1/17/abc', 3, now() + $1::interval, now() - $2::interval, 1041, '{"leases_taken_back": 2, "jobs_promoted": 1}')
		ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at, last_cycle_at = excluded.last_cycle_at`, lease, lastCycle)
}

func statusDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.Coordinator = coordinator.New(d.db, coordinator.Work{}, runNotifier(t, d.db, d.Log), d.Log)
	return d
}

func TestStatusPage(t *testing.T) {
	d := statusDesk(t)
	doc := page(t, d.get("/status"), http.StatusOK)
	wantText(t, doc, "#coordinator", "Nobody leads")
	wantText(t, doc, "#status-note", "Claims take back expired leases themselves")
	wantText(t, doc, "#coordinator", "no factory yet")

	leads(t, d, "10 seconds", "4 seconds")
	d.agent("claude-1")
	doc = page(t, d.get("/status"), http.StatusOK)
	for _, text := range []string{"Working", "mac-1/17/abc", "3 since", "4s ago", "1,041", "1 live factory, 1 agent", "Answers in"} {
		wantText(t, doc, "#coordinator", text)
	}
	wantText(t, doc, "#counters", "Leases taken back2")
	wantCount(t, doc, "#status-note", 0)
	wantCount(t, doc, "form[action='/status/recover']", 1)

	leads(t, d, "10 seconds", "61 seconds")
	wantText(t, page(t, d.get("/status"), http.StatusOK), "#coordinator", "Late")
	leads(t, d, "0 seconds", "3 seconds")
	wantText(t, page(t, d.get("/status"), http.StatusOK), "#coordinator", "Nobody leads")
}

func TestStatusLogAndItsOlderLines(t *testing.T) {
	d := statusDesk(t)
	dbfactory.Exec(t, d.db, `INSERT INTO coordinator_log (instance_id, term, level, message)
		SELECT 'mac-1/17/abc', 2, 'WARNING', 'line <' || n || '>' FROM generate_series(1, 60) n`)
	doc := page(t, d.get("/status"), http.StatusOK)
	wantCount(t, doc, "#log li", 50)
	wantText(t, doc, "#log li:first-child", "Term 2 line <60> mac-1/17/abc")
	older, ok := doc.Find("#log a").Attr("href")
	if !ok {
		t.Fatal("there is no way to the older lines")
	}
	doc = page(t, d.get(older), http.StatusOK)
	wantCount(t, doc, "#log li", 10)
	wantText(t, doc, "#log li:first-child", "line <10>")
	wantText(t, doc, "#log a", "Newest")
	read(t, d.get("/status?before=x"), http.StatusNotFound)

	doc = page(t, d.as(tenancy.RoleViewer).get("/status"), http.StatusOK)
	wantCount(t, doc, "#log", 0)
	wantCount(t, doc, "form[action='/status/recover']", 0)
}

func TestRecoverFromTheStatusPage(t *testing.T) {
	d := statusDesk(t)
	d.job("Alpha")
	j := d.claim(d.agent("claude-1"))
	dbfactory.Exec(t, d.db, `UPDATE job_lease SET expires_at = now() - interval '1 second'`)
	read(t, d.as(tenancy.RoleMember).post("/status/recover", nil), http.StatusForbidden)
	wantRedirect(t, d.post("/status/recover", nil), "/status")
	wantText(t, page(t, d.get("/status"), http.StatusOK), "#toasts", "1 lease taken back.")
	if now := d.now(j); now.Status != jobs.Ready {
		t.Errorf("the job is %s", now.Status)
	}
	d.post("/status/recover", nil)
	wantText(t, page(t, d.get("/status"), http.StatusOK), "#toasts", "Nothing had to be done.")
}

func TestHealthOfTheCoordinatorForMonitors(t *testing.T) {
	d := statusDesk(t)
	stranger := &site{Server: d.Server, db: d.db, log: d.log, cookies: map[string]*http.Cookie{}}
	ask := func(status int) coordinatorHealth {
		t.Helper()
		res := stranger.get("/health/coordinator")
		wantStatus(t, res, status)
		if (res.Header.Get("Retry-After") == "") != (status == http.StatusOK) {
			t.Errorf("Retry-After %q with %d", res.Header.Get("Retry-After"), status)
		}
		var health coordinatorHealth
		if err := json.Unmarshal(res.Body.Bytes(), &health); err != nil {
			t.Fatal(err)
		}
		return health
	}
	if h := ask(http.StatusServiceUnavailable); h.Active || h.LastCycleAt != nil || h.SecondsSince != nil {
		t.Errorf("before anybody led: %+v", h)
	}
	leads(t, d, "10 seconds", "4 seconds")
	if h := ask(http.StatusOK); !h.Active || h.Term != 3 || h.InstanceID != "mac-1/17/abc" || *h.SecondsSince < 4 || *h.SecondsSince > 30 {
		t.Errorf("while one leads: %+v", h)
	}
	leads(t, d, "10 seconds", "61 seconds")
	ask(http.StatusServiceUnavailable)
	leads(t, d, "0 seconds", "4 seconds")
	if h := ask(http.StatusServiceUnavailable); h.Active || h.Term != 3 {
		t.Errorf("after the lease: %+v", h)
	}
}
