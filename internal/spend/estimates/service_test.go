package estimates

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// testWorkspace is a workspace and one of its people.
type testWorkspace struct {
	t       *testing.T
	db      *db.DB
	service *Service
	who     tenancy.Principal
	jobs    int
}

func newTestWorkspace(t *testing.T) *testWorkspace {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	w := &testWorkspace{t: t, db: d, service: New(d)}
	w.who = tenancy.Principal{Workspace: dbfactory.Workspace(t, d), Kind: tenancy.KindPerson, Role: tenancy.RoleViewer}
	dbfactory.Exec(t, d, `INSERT INTO lane (workspace_id, product_id, needs, digest) SELECT workspace_id, id, '{}', '' FROM product`)
	return w
}

// job returns one that ended some time ago and used something in its last two attempts. set
// is SQL that changes the job.
func (w *testWorkspace) job(ago time.Duration, status, set string, tokens, nanos int64) ids.ID {
	w.t.Helper()
	id := ids.New()
	w.jobs++
	dbfactory.Exec(w.t, w.db, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, status_at, completed_at, failed_at,
			epoch, created_by, kind, repo)
		SELECT workspace_id, $1, $2, 'job', product_id, id, $3, now() - make_interval(secs => $4), now(), now(), 2, 'test', 'fix', 'web' FROM lane`,
		id, fmt.Sprint("J-", w.jobs), status, ago.Seconds())
	if set != "" {
		dbfactory.Exec(w.t, w.db, `UPDATE job SET `+set+` WHERE id = $1`, id)
	}
	dbfactory.Exec(w.t, w.db, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at)
		SELECT workspace_id, id, generate_series(1, 2), 'ada', 'desk', 'completed', now() FROM job WHERE id = $1`, id)
	dbfactory.Exec(w.t, w.db, `INSERT INTO job_usage (workspace_id, job_id, epoch, entries, input_tokens, output_tokens, cache_read_tokens,
			cache_write_tokens, cache_write_1h_tokens, reported_nanos, unpriced, charged_nanos, imputed_nanos)
		SELECT workspace_id, job_id, epoch, 1, $2::bigint / 2, 0, 0, 0, 0, 0, 0, $3::bigint / 4, $3::bigint / 4 FROM attempt WHERE job_id = $1`,
		id, tokens, nanos)
	return id
}

func (w *testWorkspace) extend() int {
	w.t.Helper()
	n, err := w.service.Extend(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *testWorkspace) of(a Ask) Estimate {
	w.t.Helper()
	e, err := w.service.Of(w.t.Context(), w.who, a)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// A job becomes history once, some minutes after its end, with all that its attempts
// used; one that did not end by itself or of which the cost is unknown does not.
func TestWhatBecomesHistory(t *testing.T) {
	w := newTestWorkspace(t)
	hour := time.Hour
	w.job(5*hour, "completed", "complexity = 4, priority = 9", 2000, 8_000_000_000)
	w.job(4*hour, "failed", "kind = 'docs', estimated_minutes = 60, failure_count = 3", 400, 4)
	w.job(3*hour, "completed", "estimated_minutes = 61, repo = ''", 400, 4)
	w.job(2*hour, "completed", "", 0, 0)
	w.job(2*hour, "aborted", "", 400, 4)
	unknown := w.job(hour, "completed", "", 400, 4)
	known := w.job(hour/2, "completed", "", 400, 4)
	w.job(time.Minute, "completed", "", 400, 4)
	dbfactory.Exec(t, w.db, `UPDATE job_usage SET unpriced = 1 WHERE job_id = $1 AND epoch = 2`, unknown)
	for model, tokens := range map[string]int64{"a": 100, "b": 300} {
		dbfactory.Exec(t, w.db, `INSERT INTO usage_hour (workspace_id, hour, job_id, epoch, provider, model, product_id, phase, repo, agent, factory,
				entries, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, charged_nanos, computed_nanos,
				reported_nanos, imputed_nanos, unpriced_tokens, unpriced)
			SELECT workspace_id, date_trunc('hour', now()), id, 1, 'p', $2, product_id, '', '', 'ada', 'desk', 1, $3, 0, 0, 0, 0, 0, 0, 0, 0, $3, 1
			FROM job WHERE id = $1`, known, model, tokens)
	}
	if n := w.extend(); n != 6 {
		t.Errorf("%d jobs were looked at; want 6", n)
	}
	if n := w.extend(); n != 0 {
		t.Errorf("%d jobs were looked at again", n)
	}
	var list []Finished
	err := w.db.In(t.Context(), db.Workspace(w.who.Workspace), func(tx db.Tx) (err error) {
		list, _, err = pageTx(t.Context(), tx, w.who.Workspace, place{}, 100)
		return err
	})
	want := []Finished{
		{Kind: "fix", Repo: "web", Complexity: 4, Priority: 9, Tokens: prices.Tokens{Input: 2000}, Cost: 8_000_000_000},
		{Kind: "docs", Repo: "web", Complexity: 2, Priority: 5, Failures: 3, Tokens: prices.Tokens{Input: 400}, Cost: 4},
		{Kind: "fix", Complexity: 3, Priority: 5, Tokens: prices.Tokens{Input: 400}, Cost: 4},
		{Kind: "fix", Repo: "web", Priority: 5, Model: "b", Tokens: prices.Tokens{Input: 400}, Cost: 4},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for minutes, step := range map[int]int{1: 1, 15: 1, 16: 2, 60: 2, 61: 3, 180: 3, 181: 4, 480: 4, 481: 5, 100_000: 5, 0: 0} {
		if got := (Ask{Minutes: minutes}).Step(); got != step {
			t.Errorf("%d minutes are complexity %d; want %d", minutes, got, step)
		}
		if got := dbfactory.Int(t, w.db, fmt.Sprintf(`SELECT coalesce(width_bucket(nullif(%d, 0) - 1, '{15,60,180,480}'::int[]) + 1, 0)`, minutes)); got != step {
			t.Errorf("the table says complexity %d for %d minutes; want %d", got, minutes, step)
		}
	}

	// Done again, it moves to its new end.
	dbfactory.Exec(t, w.db, `UPDATE job SET status_at = now() - interval '3 minutes', status = 'completed', failure_count = 4 WHERE kind = 'docs'`)
	if n := w.extend(); n != 1 || dbfactory.Int(t, w.db, `SELECT failures FROM job_cost ORDER BY ended_at DESC LIMIT 1`) != 4 {
		t.Errorf("%d jobs were looked at after one was done again", n)
	}
}

// However long the history is that was never looked at, it is taken in parts.
func TestALongHistoryIsTakenInParts(t *testing.T) {
	w := newTestWorkspace(t)
	dbfactory.Exec(t, w.db, `INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, status_at, completed_at, created_by)
		SELECT workspace_id, gen_random_uuid(), 'K-' || n, 'job', product_id, id, 'completed', now() - interval '1 day', now(), 'test'
		FROM lane, generate_series(1, $1) n`, sweepBatch+20)
	for _, want := range []int{sweepBatch, 20, 0} {
		if n := w.extend(); n != want {
			t.Errorf("%d jobs were looked at; want %d", n, want)
		}
	}
}

// An estimate of the service is that of a replay at the same point of the history.
func TestTheServiceEstimatesAsTheReplayDoes(t *testing.T) {
	w := newTestWorkspace(t)
	r := NewReplay()
	list := simulated(260)
	for i, f := range list {
		dbfactory.Exec(t, w.db, `INSERT INTO job_cost (workspace_id, job_id, ended_at, kind, repo, complexity, priority, failures, model, input_tokens,
				cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, tokens, cost_nanos)
			VALUES ($1, gen_random_uuid(), now() + make_interval(secs => $2), $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13, $14)`,
			w.who.Workspace, i, f.Kind, f.Repo, f.Complexity, f.Priority, f.Failures, f.Model, f.Tokens.Input, f.Tokens.CacheRead,
			f.Tokens.CacheWrite, f.Tokens.Output, f.Tokens.Sum(), int64(f.Cost))
		r.Add(f)
	}
	asks := []Ask{{Kind: "fix", Repo: "repo-1", Complexity: 3}, {Kind: "fix", Repo: "repo-1", Minutes: 100}, {Kind: "fix", Repo: "none", Complexity: 5},
		{Kind: "fix"}, {}, {Kind: "another", Priority: 9}}
	got, err := w.service.OfMany(t.Context(), w.who, asks)
	if err != nil {
		t.Fatal(err)
	}
	near := cmp.Comparer(func(a, b spend.Nanos) bool { return math.Abs(float64(a-b)) < 1e-6*float64(a) })
	for i, a := range asks {
		if diff := cmp.Diff(of(a, r.groups(a)), got[i], near); diff != "" {
			t.Errorf("%+v (-replay +service):\n%s", a, diff)
		}
	}
	w.compares(list, r.Result().After)
	all, err := ReplayAll(t.Context(), w.db)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d workspaces were replayed: %v", len(all), err)
	}
	if diff := cmp.Diff(r.Result(), all[0].Result); diff != "" || all[0].Workspace == "" {
		t.Errorf("%s (-replay +stored):\n%s", all[0].Workspace, diff)
	}
}

// compares expects that each of the jobs is compared with what those before it led to
// expect, with that accuracy.
func (w *testWorkspace) compares(list []Finished, want Accuracy) {
	w.t.Helper()
	compared, accuracy, err := w.service.Compare(w.t.Context(), w.who, 260)
	if err != nil || len(compared) != 260 || accuracy != want {
		w.t.Errorf("%d jobs are compared, with %+v, %v; want %+v", len(compared), accuracy, err, want)
	}
	inside := 0
	for i, c := range compared {
		if c.Actual != list[i].Cost || c.P50 <= 0 || c.P90 < c.P50 {
			w.t.Errorf("job %d: %+v", i, c)
		}
		if c.Within {
			inside++
		}
	}
	last, accuracy, err := w.service.Compare(w.t.Context(), w.who, 10)
	if diff := cmp.Diff(compared[250:], last); diff != "" || err != nil || inside != want.Within || accuracy.Jobs != 10 {
		w.t.Errorf("the last ten: %v, %+v, %d within 20 %%\n%s", err, accuracy, inside, diff)
	}
}

// Where nothing has finished, the formula of document 001 says what a job costs.
func TestAColdStart(t *testing.T) {
	w := newTestWorkspace(t)
	e := w.of(Ask{Kind: "fix", Complexity: 3})
	// 6 points of 1,000 tokens and the three factors; 4 input tokens at $3 for each
	// output token at $15, for a million.
	want := Estimate{TokensP50: 10_764, P50: 58_125_600, P90: 174_376_800, Source: Formula, Tier: Standard,
		Why: "No job has finished with a known cost yet, so the formula is all there is. Complexity 3 is usual work."}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.job(time.Hour, "completed", "complexity = 3", 4_000_000, 2_000_000_000)
	w.extend()
	if e = w.of(Ask{Kind: "fix", Repo: "web", Complexity: 3}); e.Source != History || e.Samples != 1 || e.P50 < 1_000_000_000 || e.P50 > 2_000_000_000 ||
		!strings.HasPrefix(e.Why, "It goes by 1 finished job of kind fix with complexity 3 in web, drawn towards 1 finished job of kind fix with complexity 3.") {
		t.Errorf("after one job: %+v", e)
	}
	if spread := float64(e.P90) / float64(e.P50); math.Abs(spread-formulaSpread) > 1e-6 {
		t.Errorf("one job says that nine in ten cost up to %.2f times the median", spread)
	}
	if e = w.of(Ask{Kind: "docs"}); e.Samples != 1 || e.Why != "It goes by 1 finished job. Its complexity is not said." {
		t.Errorf("of another kind: %+v", e)
	}
	if list, err := w.service.OfMany(t.Context(), w.who, nil); err != nil || len(list) != 0 {
		t.Errorf("no question has %d answers, %v", len(list), err)
	}
	if _, _, err := w.service.Compare(t.Context(), tenancy.Principal{Workspace: w.who.Workspace}, 1); !fault.Is(err, fault.Forbidden) {
		t.Errorf("somebody without a role compares: %v", err)
	}
	if _, err := w.service.Of(t.Context(), tenancy.Principal{Workspace: w.who.Workspace}, Ask{}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("somebody without a role reads estimates: %v", err)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask  Ask
		want Tier
	}{
		"nothing is said":      {Ask{Priority: 5}, Standard},
		"little work":          {Ask{Complexity: 2}, Small},
		"usual work":           {Ask{Complexity: 3}, Standard},
		"hard work":            {Ask{Complexity: 4}, Standard},
		"the hardest work":     {Ask{Complexity: 5, Kind: "boilerplate"}, Large},
		"boilerplate":          {Ask{Complexity: 4, Kind: "boilerplate"}, Small},
		"critical":             {Ask{Complexity: 1, Priority: 9}, Large},
		"a quarter of an hour": {Ask{Minutes: 15}, Small},
		"asked for":            {Ask{Minutes: 2000, Priority: 10, Wanted: Small}, Small},
		"two days":             {Ask{Minutes: 2000}, Large},
	} {
		if got, why := ChooseTier(c.ask); got != c.want || why == "" {
			t.Errorf("%s: %s, %q; want %s", name, got, why, c.want)
		}
	}
}
