package screens_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// crowd adds n jobs like a job's, in several statuses, by SQL: what a workspace
// holds after a year.
func (w *testWorkspace) crowd(like jobs.Job, n int, statuses ...string) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `INSERT INTO job (workspace_id, id, key, title, product_id, repo, capabilities, lane_id, phase, priority, status,
			wait_reason, not_before, created_by, created_at, status_at, ready_at, completed_at, failed_at)
		SELECT workspace_id, gen_random_uuid(), s || '-' || phase || '-' || repo || '-' || n, 'Job ' || n || ' of the crowd', product_id, repo, capabilities,
			lane_id, phase, n % 11, s, CASE s WHEN 'waiting' THEN 'not_before' ELSE '' END, now() + interval '9 days', 'test', now(),
			now() - make_interval(secs => n / 7), now(), now(), now()
		FROM job, generate_series(1, $2::int) n, unnest($3::text[]) s WHERE id = $1`, like.ID, n, statuses)
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_text (workspace_id, job_id) SELECT workspace_id, id FROM job ON CONFLICT DO NOTHING`)
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id)
		SELECT workspace_id, lane_id, priority, ready_at, ready_at, id FROM job WHERE status = 'ready' ON CONFLICT DO NOTHING`)
}

// all reads a column of a filter from its first page to its last.
func (w *testWorkspace) all(f screens.Filter, c screens.Column) (found []string, first screens.ColumnPage, pages int) {
	w.t.Helper()
	for after := ""; pages == 0 || after != ""; pages++ {
		page, err := w.ColumnPage(w.t.Context(), w.who, f, c, after)
		if err != nil {
			w.t.Fatal(err)
		}
		if pages == 0 {
			first = page
		}
		if pages > 50 {
			w.t.Fatalf("%+v: the pages of %s do not end", f, c)
		}
		for _, card := range page.Cards {
			if slices.Contains(found, card.Job.Key) {
				w.t.Errorf("%+v: %s is on two pages of %s", f, card.Job.Key, c)
			}
			found = append(found, card.Job.Key)
		}
		after = page.Next
	}
	return found, first, pages
}

// What a product, a repo or a named factory has in a column is found at once,
// however many more urgent jobs of others stand before it.
func TestAFilterByLaneFindsAllAtOnce(t *testing.T) {
	w := setup(t)
	if _, _, err := w.jobs.PutProduct(t.Context(), w.who, "small", jobs.ProductSettings{Repos: []string{"ledger"}}); err != nil {
		t.Fatal(err)
	}
	w.crowd(w.job(jobs.New{Spec: jobs.Spec{Title: "others"}}), 4200, "ready", "waiting", "completed", "failed")
	low := 0
	small := w.job(jobs.New{Spec: jobs.Spec{Title: "small", Repo: "ledger", Factory: "linux-2"}, Priority: &low})
	w.crowd(small, 120, "ready", "waiting", "completed", "failed", "blocked")
	dbfactory.Exec(t, w.db, `UPDATE job SET priority = 0, status_at = status_at + CASE WHEN status IN ('ready', 'waiting') THEN 1 ELSE -1 END * interval '1 hour'
		WHERE repo = 'ledger'`)
	for _, c := range []struct {
		f    screens.Filter
		in   screens.Column
		want int
	}{
		{screens.Filter{Products: []string{"small"}}, screens.Ready, 121}, {screens.Filter{Products: []string{"small"}}, screens.Waiting, 240},
		{screens.Filter{Products: []string{"small"}}, screens.Done, 120}, {screens.Filter{Repos: []string{"ledger"}}, screens.Failed, 120},
		{screens.Filter{Factories: []string{"linux-2"}}, screens.Ready, 0}, {screens.Filter{Repos: []string{"ledger"}, Products: []string{"default"}}, screens.Ready, 0},
		{screens.Filter{Repos: []string{"ledger", "none"}, Products: []string{"small", "other"}}, screens.Done, 120},
		{screens.Filter{Repos: []string{"none"}}, screens.Done, 0}, {screens.Filter{Unroutable: true, Repos: []string{"ledger"}}, screens.Ready, 121},
		{screens.Filter{Unroutable: true}, screens.Waiting, 0},
	} {
		if len(c.f.Factories) > 0 {
			dbfactory.Exec(t, w.db, `UPDATE job SET factory = 'linux-2' WHERE repo = 'ledger'`)
			c.want = 121
		}
		found, first, _ := w.all(c.f, c.in)
		if len(found) != c.want || first.Count != c.want || first.Capped || first.Scanned != 0 {
			t.Errorf("%+v in %s: %d found, %d counted (more: %v, looked at %d), want %d", c.f, c.in, len(found), first.Count, first.Capped,
				first.Scanned, c.want)
		}
	}
}

// What no index answers is looked for among the first jobs of the column, which
// the page says; the pages after it go on, and in the end all is found. A job that
// is called by its key stands on the first page wherever it is.
func TestAWalkGoesOnWhereItEnded(t *testing.T) {
	w := setup(t)
	one := w.job(jobs.New{Spec: jobs.Spec{Title: "one"}})
	w.crowd(one, 9000, "ready", "completed")
	dbfactory.Exec(t, w.db, `UPDATE job SET phase = 'M9' WHERE key LIKE '%-77' OR key LIKE '%-8_88'`)
	for _, c := range []screens.Column{screens.Ready, screens.Done} {
		for name, f := range map[string]screens.Filter{"phase": {Phases: []string{"M9"}}, "text": {Query: "88 of the CROWD"}} {
			want := map[string]int{"phase": 11, "text": 90}[name]
			found, first, pages := w.all(f, c)
			if len(found) != want || first.Scanned == 0 || !first.Capped || pages < 3 {
				t.Errorf("%s in %s: %d found on %d pages, the first looked at %d (more: %v); want %d", name, c, len(found), pages, first.Scanned,
					first.Capped, want)
			}
		}
		prefix := map[screens.Column]string{screens.Ready: "ready", screens.Done: "completed"}[c]
		last := dbfactory.Text(t, w.db, `SELECT key FROM job WHERE key LIKE $1 ORDER BY priority, status_at DESC LIMIT 1`, prefix+"%-8992")
		found, first, _ := w.all(screens.Filter{Query: last}, c)
		if len(found) != 1 || len(first.Cards) != 1 || first.Cards[0].Job.Key != last {
			t.Errorf("by the key %s: %s, on the first page %s", last, strings.Join(found, " "), keys(first))
		}
	}
	if found, _, _ := w.all(screens.Filter{Query: strings.ToLower(one.Key)}, screens.Ready); !slices.Contains(found, one.Key) {
		t.Error("a key in small letters is not found")
	}
}

// The jobs in work are read by their leases, the newest first.
func TestJobsInWorkAreReadByTheirLeases(t *testing.T) {
	w := setup(t)
	agent := w.agent()
	for i := range 3 {
		w.job(jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}})
	}
	w.claimAll(agent, 2)
	list, err := w.Leased(t.Context(), w.who)
	if err != nil || len(list) != 2 || list[0].Key != "FB-2" || list[0].Lease == nil {
		t.Errorf("%d in work, %v", len(list), err)
	}
}

func (w *testWorkspace) claimAll(agent tenancy.Principal, n int) {
	w.t.Helper()
	if got, err := w.dispatch.Claim(w.t.Context(), agent, claim.Request{Max: n}); err != nil || len(got.Jobs) != n {
		w.t.Fatalf("claimed %d, %v", len(got.Jobs), err)
	}
}
