package audit_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Counts that are not those of the jobs are found, however the jobs came to differ.
func TestWrongCountsAreFound(t *testing.T) {
	w := newTestWorkspace(t)
	w.life()
	w.clean(audit.Run)
	w.damage(`UPDATE job_count_change SET jobs = jobs + 2 WHERE id = (SELECT min(id) FROM job_count_change WHERE status = 'ready')`)
	w.finds(audit.Run, "counts", jobs.Job{}, "2 jobs of default are ready, 4 are counted")
	w.damage(`INSERT INTO job_count (workspace_id, product_id, status, jobs) SELECT workspace_id, product_id, 'ready', -2 FROM job LIMIT 1`)
	w.clean(audit.Run)
	w.damage(`SET session_replication_role = replica`)
	w.damage(`UPDATE job SET status = 'blocked' WHERE status = 'paused'`)
	w.damage(`SET session_replication_role = DEFAULT`)
	w.finds(audit.Run, "counts", jobs.Job{}, "1 jobs of default are blocked, 0 are counted")
	w.finds(audit.Run, "counts", jobs.Job{}, "0 jobs of default are paused, 1 are counted")
}

// No foreign key checks the job of a lease, an attempt, a text or a ready row;
// so the audit does.
func TestStrayRowsAreFound(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.life()
	stray := func(name, detail, sql string) {
		t.Helper()
		w.damage(`SET session_replication_role = replica`)
		w.damage(sql, j[name].ID)
		w.damage(`SET session_replication_role = DEFAULT`)
		w.finds(audit.Run, "stray", jobs.Job{Key: j[name].ID.String()}, detail)
	}
	stray("running", "a lease of an agent or a factory that is not there", `UPDATE job_lease SET factory_id = gen_random_uuid() WHERE job_id = $1`)
	stray("running", "a lease", `DELETE FROM job WHERE id = $1`)
	stray("ready", "a ready row", `DELETE FROM job WHERE id = $1`)
	stray("done", "an attempt", `DELETE FROM job WHERE id = $1`)
	stray("timed", "a text", `DELETE FROM job WHERE id = $1`)
}

// What stands for a job goes with it, and so does all of a workspace; an agent
// and a factory that a lease names stay.
func TestWhatBelongsToAJobGoesWithIt(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.life()
	for _, sql := range []string{`DELETE FROM agent`, `DELETE FROM factory`} {
		if _, err := w.admin.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s took the holder of a lease away", sql)
		}
	}
	w.damage(`DELETE FROM repo_slot`)
	for _, name := range []string{"running", "ready", "done", "review"} {
		w.damage(`DELETE FROM job WHERE id = $1`, j[name].ID)
	}
	w.clean(audit.Run)
	w.damage(`DELETE FROM workspace WHERE id = $1`, w.workspace)
	for _, table := range []string{"job", "job_text", "job_ready", "job_lease", "attempt", "event", "job_count", "job_count_change", "agent",
		"factory"} {
		if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM `+table); n != 0 {
			t.Errorf("%d rows of %s outlive their workspace", n, table)
		}
	}
}

// Each check is explained to who reads its findings.
func TestEachCheckIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newTestWorkspace(t)
	for _, check := range []func(context.Context, *db.DB) (audit.Report, error){audit.Run, audit.Verify} {
		report, err := check(t.Context(), w.db)
		if err != nil || len(report.Checks) == 0 {
			t.Fatalf("%d checks, %v", len(report.Checks), err)
		}
		for _, c := range report.Checks {
			if !strings.Contains(string(text), "| `"+c.Name+"` |") {
				t.Errorf("docs/operating.md does not say what a finding of %s means", c.Name)
			}
		}
	}
}
