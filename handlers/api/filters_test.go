package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// names returns a field of the items of all pages of a list, in their order.
func (w *apiServer) names(token, path, field, cursor, next string) string {
	w.t.Helper()
	var all []string
	for place, pages := "", 0; ; pages++ {
		at := path
		if place != "" {
			at += "&" + cursor + "=" + url.QueryEscape(place)
		}
		a := w.as(token, "GET", at, nil).want(200)
		for i := range a.count("items") {
			all = append(all, a.text("items", i, field))
		}
		after := a.text(next)
		if after == "" || after == place {
			return strings.Join(all, " ")
		}
		if place = after; pages > 50 {
			w.t.Fatalf("%s has no end", path)
		}
	}
}

// Pages of names are in natural order, each name once.
func TestNamesArePagedInNaturalOrder(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, n := range []int{10, 2, 1, 20} {
		w.agent(fmt.Sprint("worker-", n), object{"factory": object{"name": fmt.Sprint("worker-", n), "seats": 1}})
		w.as(w.owner, "PUT", fmt.Sprint("/products/worker-", n), object{}).want(201)
	}
	const want = "worker-1 worker-2 worker-10 worker-20"
	for _, path := range []string{"/agents?limit=1", "/factories?limit=1", "/products?limit=1", "/factories?limit=3"} {
		if got := w.names(w.owner, path, "name", "cursor", "next_cursor"); !strings.HasSuffix(got, want) || strings.Count(got, "worker") != 4 {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestAgentsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for i, name := range []string{"ada", "bob", "cyd", "dan"} {
		w.agent(name, object{"factory": object{"name": fmt.Sprintf("host-%d", i%2), "seats": 9}})
	}
	dbfactory.Exec(t, w.db, `UPDATE agent SET status = 'working' WHERE name IN ('ada', 'dan')`)
	dbfactory.Exec(t, w.db, `UPDATE agent SET last_heartbeat_at = now() - interval '10 hours' WHERE name = 'dan'`)
	dbfactory.Exec(t, w.db, `UPDATE agent SET products = '{shop}' WHERE name = 'bob'`)
	dbfactory.Exec(t, w.db, `UPDATE agent SET products = '{bank}' WHERE name = 'cyd'`)
	for query, want := range map[string]string{
		"": "ada bob cyd dan", "status=working": "ada dan", "status=blocked": "", "health=dead": "dan", "health=healthy": "ada bob cyd",
		"factory=host-0": "ada cyd", "factory=none": "", "product=shop": "ada bob dan", "product=bank&factory=host-0&health=healthy": "ada cyd",
		"status=working&health=dead": "dan",
	} {
		if got := w.names(w.owner, "/agents?limit=1&"+query, "name", "cursor", "next_cursor"); got != want {
			t.Errorf("%s: %q; want %q", query, got, want)
		}
	}
	for _, query := range []string{"status=asleep", "health=fine", "status="} {
		w.as(w.owner, "GET", "/agents?"+query, nil).want(422).refused(fault.Validation)
	}
}

func TestCoordinatorLogsAreFiltered(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	dbfactory.Exec(t, w.db, `INSERT INTO coordinator_log (instance_id, term, level, message)
		SELECT 'x', 1, (ARRAY['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'])[n % 5 + 1], n FROM generate_series(0, 9) n ORDER BY n`)
	for level, want := range map[string]string{"DEBUG": "9 8 7 6 5 4 3 2 1 0", "WARNING": "9 8 7 4 3 2", "CRITICAL": "9 4"} {
		if got := w.names(w.owner, "/coordinator/logs?limit=2&level="+level, "message", "cursor", "next_cursor"); got != want {
			t.Errorf("%s: %q; want %q", level, got, want)
		}
	}
	w.as(w.owner, "GET", "/coordinator/logs?level=LOUD", nil).want(422).refused(fault.Validation)
}

func TestEventsAreReadSinceATimeAndBackwards(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.job("one", object{"key": "FB-1"})
	job := dbfactory.Text(t, w.db, `SELECT id::text FROM job`)
	dbfactory.Exec(t, w.db, `TRUNCATE event CASCADE`)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 40 {
		dbfactory.Exec(t, w.db, `INSERT INTO event (workspace_id, type, actor, actor_kind, at, job_id)
			SELECT id, 'job.created', $1, 'person', $2, CASE WHEN $3 THEN $4::uuid END FROM workspace`, fmt.Sprint(i),
			start.Add(time.Duration(i)*time.Minute), i%10 == 5, job)
	}
	for dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())`) > 0 {
		dbfactory.Exec(t, w.db, `SELECT pg_sleep(0.01)`) // a transaction of another test still runs
	}
	at := func(minute int) string {
		return url.QueryEscape(start.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339))
	}
	for query, want := range map[string]string{
		"since=" + at(36):                           "36 37 38 39",
		"since=" + at(36) + "&order=desc":           "39 38 37 36",
		"since=" + at(99):                           "",
		"since=" + at(99) + "&order=desc":           "",
		"since=" + at(12) + "&job=FB-1":             "15 25 35",
		"since=" + at(12) + "&job=FB-1&order=desc":  "35 25 15",
		"since=" + at(12) + "&actor=20&order=desc":  "20",
		"since=" + at(30) + "&actor=20":             "",
		"order=desc&job=FB-1":                       "35 25 15 5",
		"since=" + at(37) + "&order=asc&type=job.*": "37 38 39",
	} {
		if got := w.names(w.owner, "/events?limit=3&"+query, "actor", "after", "next_after"); got != want {
			t.Errorf("%s: %q; want %q", query, got, want)
		}
	}
	all := w.names(w.owner, "/events?limit=7&order=desc", "actor", "after", "next_after")
	if len(strings.Fields(all)) != 40 || !strings.HasPrefix(all, "39 38 ") || !strings.HasSuffix(all, " 1 0") {
		t.Errorf("backwards: %s", all)
	}
	for _, query := range []string{"order=sideways", "since=yesterday"} {
		w.as(w.owner, "GET", "/events?"+query, nil).want(422).refused(fault.Validation)
	}
}

func TestJobsAreFilteredByFailureAndWait(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	first := w.job("first", object{"key": "FB-1"})
	w.job("second", object{"key": "FB-2", "depends_on": []string{first}})
	w.job("third", object{"key": "FB-3", "not_before": "2099-01-01T00:00:00Z"})
	dbfactory.Exec(t, w.db, `UPDATE job SET failure_kind = 'crash' WHERE key = 'FB-1'`)
	for query, want := range map[string]string{
		"failure_kind=crash": "FB-1", "failure_kind=timeout": "", "wait_reason=dependency": "FB-2", "wait_reason=not_before": "FB-3",
	} {
		if got := w.names(w.owner, "/jobs?limit=1&"+query, "key", "cursor", "next_cursor"); got != want {
			t.Errorf("%s: %q; want %q", query, got, want)
		}
	}
	for _, query := range []string{"failure_kind=gremlins", "wait_reason=tea"} {
		w.as(w.owner, "GET", "/jobs?"+query, nil).want(422).refused(fault.Validation)
	}
}
