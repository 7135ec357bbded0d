package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Of a deleted job one event stays, and what it spent.
func TestDeletedJobsLeaveOneEvent(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("Hush", object{"body": strings.Repeat("hush ", 500), "input_context": object{"pin": "hush"}, "secret_keys": []string{"pin"}})
	child := w.job("Next", object{"depends_on": []string{key}})
	w.as(w.owner, "DELETE", "/jobs/"+key, nil).want(409).refused(fault.InvalidTransition)
	ref := w.claim(ada)
	w.as(ada, "POST", "/fleet/logs", merge(ref, object{"lines": []object{{"level": "INFO", "message": "hush"}}})).want(200)
	w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{{"id": "u1", "provider": "p", "model": "m",
		"input_tokens": 7, "output_tokens": 1, "at": "2026-03-01T12:00:00Z"}}})).want(200)
	w.as(ada, "POST", "/fleet/complete", merge(ref, object{"result": object{"found": strings.Repeat("hush ", 500)}})).want(200)
	refusal := w.as(w.owner, "DELETE", "/jobs/"+key, nil).want(409).refused(fault.InUse)
	if refusal.text("dependents", 0) != child {
		t.Errorf("dependents: %s", refusal.raw)
	}
	w.as(w.owner, "DELETE", "/jobs/"+child+"/dependencies/"+key, nil).want(200)
	informs := w.job("Found beside")
	w.as(w.owner, "POST", "/jobs/"+informs+"/dependencies", object{"depends_on": key, "type": "discovered_from"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/archive", nil).want(200)
	created := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	events := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE job_id = $1`, created.text("id"))

	w.as(ada, "DELETE", "/jobs/"+key, nil).want(403).refused(fault.Forbidden)
	w.as(w.owner, "DELETE", "/jobs/"+key, nil).want(204)
	for _, path := range []string{"", "/events", "/attempts", "/logs", "/explanation", "/dependencies"} {
		w.as(w.owner, "GET", "/jobs/"+key+path, nil).want(404).refused(fault.NotFound)
	}
	w.as(w.owner, "DELETE", "/jobs/"+key, nil).want(404).refused(fault.NotFound)

	for what, sql := range map[string]string{
		"texts": `SELECT count(*) FROM job_text WHERE job_id = $1`, "attempts": `SELECT count(*) FROM attempt WHERE job_id = $1`,
		"log lines": `SELECT count(*) FROM job_log WHERE job_id = $1`, "sums": `SELECT count(*) FROM job_usage WHERE job_id = $1`,
		"secrets": `SELECT count(*) FROM job_secret WHERE job_id = $1`, "links": `SELECT count(*) FROM job_dependency WHERE depends_on_id = $1`,
		"contents": `SELECT count(*) FROM content WHERE body LIKE '%hush%' AND $1::uuid IS NOT NULL`,
		"words":    `SELECT count(*) FROM event e WHERE (e.changes::text || e.payload::text) ILIKE '%hush%' AND $1::uuid IS NOT NULL`,
	} {
		if n := dbfactory.Int(t, w.db, sql, created.text("id")); n != 0 {
			t.Errorf("%d %s are left; want none", n, what)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM usage_entry WHERE job_id = $1`, created.text("id")); n != 1 {
		t.Errorf("%d usage entries are left; want 1", n)
	}
	sum := sha256.Sum256([]byte("Hush"))
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE type = 'job.purged' AND payload->>'key' = $1
		AND payload->>'title_sha256' = $2 AND (payload->>'events')::int = $3 AND payload->>'finished_at' = payload->>'finished_at'`,
		key, hex.EncodeToString(sum[:]), events); n != 1 {
		t.Errorf("%d events tell of the deleted job; want 1", n)
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE job_id = $1`, created.text("id")); n != 1 {
		t.Errorf("%d events are left; want 1", n)
	}
	if counted := w.as(w.owner, "GET", "/stats", nil).want(200); counted.at("jobs", "archived") != nil && counted.number("jobs", "archived") != 0 {
		t.Errorf("counts: %s", counted.raw)
	}
	for name, check := range map[string]func() (audit.Report, error){
		"audit":      func() (audit.Report, error) { return audit.Run(t.Context(), w.db) },
		"verify-log": func() (audit.Report, error) { return audit.Verify(t.Context(), w.db) },
	} {
		r, err := check()
		if err != nil || len(r.Findings) > 0 {
			t.Errorf("%s: %v %v", name, r.Findings, err)
		}
	}
}
