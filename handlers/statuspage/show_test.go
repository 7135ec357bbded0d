package statuspage_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestStatusPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/status"), http.StatusOK)
	handlertest.WantText(t, doc, "#coordinator", "Nobody leads")
	handlertest.WantText(t, doc, "#status-note", "Claims take back expired leases themselves")
	handlertest.WantText(t, doc, "#coordinator", "no factory yet")
	handlertest.WantText(t, doc, "#coordinator", "Wake-ups")

	handlertest.Leads(t, d, "10 seconds", "4 seconds")
	d.Agent("claude-1")
	doc = handlertest.Page(t, d.Get("/status"), http.StatusOK)
	for _, text := range []string{"Working", "mac-1/17/abc", "3 since", "4s ago", "1,041", "1 live factory, 1 agent", "Answers in"} {
		handlertest.WantText(t, doc, "#coordinator", text)
	}
	handlertest.WantText(t, doc, "#counters", "Leases taken back2")
	handlertest.WantCount(t, doc, "#status-note", 0)
	handlertest.WantCount(t, doc, "form[action='/status/recover']", 1)

	handlertest.Leads(t, d, "10 seconds", "61 seconds")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/status"), http.StatusOK), "#coordinator", "Late")
	handlertest.Leads(t, d, "0 seconds", "3 seconds")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/status"), http.StatusOK), "#coordinator", "Nobody leads")
}

// Each page's navigation says how the coordinator is, and the page of the status shows
// what has become of it without a reload.
func TestStatusIsLive(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for _, path := range []string{"/board", "/settings/account", "/status"} {
		doc := handlertest.Page(t, d.Get(path), http.StatusOK)
		handlertest.WantText(t, doc, ".nav a[href='/status'] #nav-health", "Nobody leads")
		handlertest.WantText(t, doc, "#more-menu a[href='/status'] #more-health", "Nobody leads")
	}
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/status"), "")
	handlertest.Leads(t, d, "10 seconds", "4 seconds")
	d.Agent("claude-1") // what the coordinator does makes no event
	got := s.Until("status-body").Data
	for _, text := range []string{"Working", "1 live factory, 1 agent, 2 seats free"} {
		if !strings.Contains(got, text) {
			t.Errorf("the stream says nothing of %q: %s", text, got)
		}
	}
	handlertest.Read(t, d.Get("/live?on=status&before=x"), http.StatusNotFound)
}

func TestStatusLogAndItsOlderLines(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	dbfactory.Exec(t, d.DB, `INSERT INTO coordinator_log (instance_id, term, level, message)
		SELECT 'mac-1/17/abc', 2, 'WARNING', 'line <' || n || '>' FROM generate_series(1, 60) n`)
	doc := handlertest.Page(t, d.Get("/status"), http.StatusOK)
	handlertest.WantCount(t, doc, "#log li", 50)
	handlertest.WantText(t, doc, "#log li:first-child", "Term 2 line <60> mac-1/17/abc")
	older, ok := doc.Find("#log a").Attr("href")
	if !ok {
		t.Fatal("there is no way to the older lines")
	}
	doc = handlertest.Page(t, d.Get(older), http.StatusOK)
	handlertest.WantCount(t, doc, "#log li", 10)
	handlertest.WantText(t, doc, "#log li:first-child", "line <10>")
	handlertest.WantText(t, doc, "#log a", "Newest")
	handlertest.Read(t, d.Get("/status?before=x"), http.StatusNotFound)

	doc = handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/status"), http.StatusOK)
	handlertest.WantCount(t, doc, "#log", 0)
	handlertest.WantCount(t, doc, "form[action='/status/recover']", 0)
}

func TestRecoverFromTheStatusPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	j := d.Claim(d.Agent("claude-1"))
	dbfactory.Exec(t, d.DB, `UPDATE job_lease SET expires_at = now() - interval '1 second'`)
	handlertest.Read(t, d.As(tenancy.RoleMember).Post("/status/recover", nil), http.StatusForbidden)
	handlertest.WantRedirect(t, d.Post("/status/recover", nil), "/status")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/status"), http.StatusOK), "#toasts", "1 lease taken back.")
	if now := d.Now(j); now.Status != jobs.Ready {
		t.Errorf("the job is %s", now.Status)
	}
	d.Post("/status/recover", nil)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/status"), http.StatusOK), "#toasts", "Nothing had to be done.")
}

// The last day of the queue is drawn and written out in a table each; an hour without a server is
// a gap and no zero.
func TestTheQueueIsCharted(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/status"), http.StatusOK)
	handlertest.WantText(t, doc, "#queue", "Nothing is recorded yet")
	handlertest.WantCount(t, doc, "#queue svg", 0)

	dbfactory.Exec(t, d.DB, `DELETE FROM queue_hour`)
	dbfactory.Exec(t, d.DB, `INSERT INTO queue_hour (workspace_id, hour, kind, step, n)
		SELECT w.id, date_trunc('hour', now(), 'UTC') - make_interval(hours => v.ago), v.kind, v.step, v.n FROM workspace w, (VALUES
			(23, 'ready', 0, 40), (22, 'up', 0, 1), (5, 'ready', 0, -4), (5, 'leases', 0, 1), (5, 'waited', 35, 3), (5, 'waited', 47, 1),
			(0, 'up', 0, 1)) v(ago, kind, step, n) WHERE w.id = $1`, d.Owner.Workspace)
	dbfactory.Exec(t, d.DB, `INSERT INTO job_count (workspace_id, product_id, status, jobs) SELECT workspace_id, id, 'ready', 36 FROM product
		WHERE workspace_id = $1 LIMIT 1 ON CONFLICT (workspace_id, product_id, status) DO UPDATE SET jobs = 36`, d.Owner.Workspace)
	doc = handlertest.Page(t, d.Get("/status"), http.StatusOK)
	for _, chart := range []string{"#queue-depth", "#queue-rates", "#queue-waits"} {
		handlertest.WantCount(t, doc, chart+" .ub-p[role=img][aria-labelledby] .ub-gap", 20)
		handlertest.WantCount(t, doc, chart+" details tbody tr", 24)
		handlertest.WantText(t, doc, chart+" details tbody tr:nth-child(3)", "not recorded")
		handlertest.WantCount(t, doc, chart+" tbody th time[data-rel=until]", 24)
		handlertest.WantText(t, doc, chart+" .ub-k", "Not recorded")
	}
	for place, text := range map[string]string{
		"#queue-depth": "36 now, most 40", "#queue-depth tbody tr:nth-child(2)": "40", "#queue-depth tbody tr:last-child": "36",
		"#queue-rates": "4 claimed, 3 ended", "#queue-rates tbody tr:nth-child(19)": "43", "#queue-rates tbody tr:last-child": "00",
		"#queue-waits": "half within 39s, 95% within 5m", "#queue-waits tbody tr:nth-child(19)": "39s5m", "#queue-waits tbody tr:last-child": "––",
	} {
		handlertest.WantText(t, doc, place, text)
	}
	doc = handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/status"), http.StatusOK)
	handlertest.WantCount(t, doc, "#queue figure", 3)
}
