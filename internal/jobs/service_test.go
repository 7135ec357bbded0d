package jobs_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// wakes remembers what was published.
type wakes struct {
	mu     sync.Mutex
	topics []string
}

func (w *wakes) Publish(topics ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.topics = append(w.topics, topics...)
}

type bundle struct {
	t     *testing.T
	db    *db.DB
	who   tenancy.Principal
	wakes *wakes
	*jobs.Service
}

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return setupIn(t, d, dbfactory.Workspace(t, d))
}

// setupFilled is setup with the rows of statements, of the first workspace.
func setupFilled(t *testing.T, statements func(first, second ids.ID) []string) *bundle {
	t.Helper()
	t.Parallel()
	d, workspace := dbfactory.Filled(t, statements)
	return setupIn(t, d, workspace)
}

func setupIn(t *testing.T, d *db.DB, workspace ids.ID) *bundle {
	w := &wakes{}
	return &bundle{t: t, db: d, who: dbfactory.Person(workspace, tenancy.RoleMember), wakes: w, Service: jobs.NewService(d, w, dbtest.Vault(d), nil)}
}

func (b *bundle) create(list ...jobs.New) []jobs.Job {
	b.t.Helper()
	made, err := b.Create(b.t.Context(), b.who, nil, list...)
	if err != nil {
		b.t.Fatalf("create: %v", err)
	}
	return made.Jobs
}

func (b *bundle) count() int { return dbfactory.Int(b.t, b.db, `SELECT count(*) FROM job`) }

func number[T any](v T) *T { return &v }

func TestANewJobHasDefaultsAKeyAndAnEvent(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Spec: jobs.Spec{Title: "  Fix the reaper "}})[0]
	if j.Key != "FB-1" || j.Title != "Fix the reaper" || j.Priority != 5 || j.Product != "default" || j.Status != jobs.Ready ||
		j.MaxRetries != 3 || j.MaxLost != 5 || j.RetryBackoffSeconds != 300 || j.Version != 1 || j.ReadyAt == nil || j.Epoch != 0 {
		t.Errorf("made %+v", j)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM event WHERE type = 'job.created' AND job_id = $1`, j.ID); n != 1 {
		t.Errorf("%d events", n)
	}
	if lane := jobs.LaneTopic(b.who.Workspace, j.LaneID); !slices.Contains(b.wakes.topics, lane) {
		t.Errorf("published %v; want %s", b.wakes.topics, lane)
	}
}

func TestJobsWithTheSameNeedsShareALane(t *testing.T) {
	b := setup(t)
	list := b.create(
		jobs.New{Spec: jobs.Spec{Title: "a", Repo: "ledger-api", Capabilities: []string{"os:linux", "has:git"}}},
		jobs.New{Spec: jobs.Spec{Title: "b", Repo: "ledger-api", Capabilities: []string{"has:git", "os:linux", "has:git"}}},
		jobs.New{Spec: jobs.Spec{Title: "c", Repo: "ledger-api"}},
		jobs.New{Spec: jobs.Spec{Title: "d", Repo: "ledger-api", Factory: "mac-1"}},
	)
	if list[0].LaneID != list[1].LaneID || list[0].LaneID == list[2].LaneID || list[2].LaneID == list[3].LaneID {
		t.Errorf("lanes %d %d %d %d", list[0].LaneID, list[1].LaneID, list[2].LaneID, list[3].LaneID)
	}
}

func TestBadJobsAreRefusedByFieldAndNothingIsMade(t *testing.T) {
	b := setup(t)
	good := jobs.New{Spec: jobs.Spec{Title: "good"}}
	for name, c := range map[string]struct {
		list  []jobs.New
		field string
	}{
		"no title":           {[]jobs.New{{}}, "title"},
		"long title":         {[]jobs.New{{Spec: jobs.Spec{Title: strings.Repeat("x", 201)}}}, "title"},
		"control characters": {[]jobs.New{{Spec: jobs.Spec{Title: "a\x1b[31mb"}}}, "title"},
		"long body":          {[]jobs.New{{Spec: jobs.Spec{Title: "a", Body: strings.Repeat("x", 100_001)}}}, "body"},
		"nul":                {[]jobs.New{{Spec: jobs.Spec{Title: "a", Body: "a\x00b"}}}, "body"},
		"priority":           {[]jobs.New{{Spec: jobs.Spec{Title: "a"}, Priority: number(11)}}, "priority"},
		"capability":         {[]jobs.New{{Spec: jobs.Spec{Title: "a", Capabilities: []string{"ok:1", "Not One"}}}}, "capabilities[1]"},
		"unknown product":    {[]jobs.New{{Spec: jobs.Spec{Title: "a"}, Product: "nope"}}, "product"},
		"unknown dependency": {[]jobs.New{{Spec: jobs.Spec{Title: "a", DependsOn: []string{"FB-99"}}}}, "depends_on[0]"},
		"input is no object": {[]jobs.New{{Spec: jobs.Spec{Title: "a"}, InputContext: []byte(`[1]`)}}, "input_context"},
		"key like an id":     {[]jobs.New{{Spec: jobs.Spec{Title: "a"}, Key: "01a1fca4-05c7-7b35-8d39-87f38845835f"}}, "key"},
		"second of a batch":  {[]jobs.New{good, {Spec: jobs.Spec{Title: ""}}}, "jobs[1].title"},
		"same key in a batch": {[]jobs.New{{Spec: jobs.Spec{Title: "a"}, Key: "K-1"}, {Spec: jobs.Spec{Title: "b"}, Key: "K-1"}},
			"jobs[1].key"},
		"no job":               {nil, "jobs"},
		"too many":             {make([]jobs.New, 1001), "jobs"},
		"dependency in batch":  {[]jobs.New{good, {Spec: jobs.Spec{Title: "b", DependsOn: []string{"K-9"}}}}, "jobs[1].depends_on[0]"},
		"negative backoff":     {[]jobs.New{{Spec: jobs.Spec{Title: "a"}, RetryBackoffSeconds: number(-1)}}, "retry_backoff_seconds"},
		"repo with a blank":    {[]jobs.New{{Spec: jobs.Spec{Title: "a", Repo: "a b"}}}, "repo"},
		"empty criterion":      {[]jobs.New{{Spec: jobs.Spec{Title: "a", Acceptance: []string{" "}}}}, "acceptance[0]"},
		"token budget of zero": {[]jobs.New{{Spec: jobs.Spec{Title: "a", TokenBudget: number(int64(0))}}}, "token_budget"},
	} {
		_, err := b.Create(t.Context(), b.who, nil, c.list...)
		if !fault.Is(err, fault.Validation) || fault.From(err).Fields[c.field] == "" {
			t.Errorf("%s: %v %v; want field %s", name, err, fault.From(err).Fields, c.field)
		}
	}
	if n := b.count(); n != 0 {
		t.Errorf("%d jobs were made", n)
	}
}

func TestARepositoryDecidesTheProduct(t *testing.T) {
	b := setup(t)
	dbfactory.Exec(t, b.db, `WITH p AS (INSERT INTO product (workspace_id, id, name) VALUES ($1, gen_random_uuid(), 'ledger') RETURNING id)
		INSERT INTO product_repo (workspace_id, repo, product_id) SELECT $1, 'ledger-api', id FROM p`, b.who.Workspace)
	if j := b.create(jobs.New{Spec: jobs.Spec{Title: "a", Repo: "ledger-api"}})[0]; j.Product != "ledger" {
		t.Errorf("product %s; want ledger", j.Product)
	}
	_, err := b.Create(t.Context(), b.who, nil, jobs.New{Spec: jobs.Spec{Title: "a", Repo: "ledger-api"}, Product: "default"})
	if got := fault.From(err).Fields["product"]; !strings.Contains(got, "ledger") {
		t.Errorf("another product: %v; want the owner's name", err)
	}
}

func TestKeysAreNeverTwice(t *testing.T) {
	b := setup(t)
	b.create(jobs.New{Spec: jobs.Spec{Title: "mine"}, Key: "FB-2"})
	list := b.create(jobs.New{Spec: jobs.Spec{Title: "a"}}, jobs.New{Spec: jobs.Spec{Title: "b"}}, jobs.New{Spec: jobs.Spec{Title: "c"}})
	if got := fmt.Sprint(list[0].Key, list[1].Key, list[2].Key); got != "FB-1FB-3FB-4" {
		t.Errorf("keys %s", got)
	}
	_, err := b.Create(t.Context(), b.who, nil, jobs.New{Spec: jobs.Spec{Title: "again"}, Key: "FB-2"})
	if !fault.Is(err, fault.AlreadyExists) {
		t.Errorf("a taken key: %v; want already_exists", err)
	}
}

func TestTheSameRequestMakesItsJobsOnce(t *testing.T) {
	b := setup(t)
	keys := make(chan string, 8)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			made, err := b.Create(t.Context(), b.who, b.Key("press", []byte("one")), jobs.New{Spec: jobs.Spec{Title: "once"}})
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			keys <- made.Jobs[0].Key
		})
	}
	all.Wait()
	close(keys)
	for key := range keys {
		if key != "FB-1" {
			t.Errorf("answered %s; want FB-1", key)
		}
	}
	if n := b.count(); n != 1 {
		t.Errorf("%d jobs were made", n)
	}
	_, err := b.Create(t.Context(), b.who, b.Key("press", []byte("two")), jobs.New{Spec: jobs.Spec{Title: "another"}})
	if !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("another body: %v; want idempotency_key_reused", err)
	}
	dbfactory.Exec(t, b.db, `UPDATE idempotent_request SET created_at = now() - interval '25 hours'`)
	if made, err := b.Create(t.Context(), b.who, b.Key("press", []byte("one")),
		jobs.New{Spec: jobs.Spec{Title: "a day later"}}); err != nil || made.Replayed {
		t.Errorf("a day later: replayed %t, %v", made.Replayed, err)
	}
}

func TestABatchMayDependOnItself(t *testing.T) {
	b := setup(t)
	list := b.create(jobs.New{Spec: jobs.Spec{Title: "last", DependsOn: []string{"K-1"}}}, jobs.New{Spec: jobs.Spec{Title: "first"},
		Key: "K-1"})
	if list[0].Status != jobs.Waiting || list[0].WaitReason != jobs.WaitDependency || list[1].Status != jobs.Ready {
		t.Errorf("%s %q, %s", list[0].Status, list[0].WaitReason, list[1].Status)
	}
	_, err := b.Create(t.Context(), b.who, nil,
		jobs.New{Spec: jobs.Spec{Title: "a", DependsOn: []string{"B"}}, Key: "A"}, jobs.New{Spec: jobs.Spec{Title: "b",
			DependsOn: []string{"C"}}, Key: "B"},
		jobs.New{Spec: jobs.Spec{Title: "c", DependsOn: []string{"B"}}, Key: "C"})
	path, _ := fault.From(err).Details["path"].([]string)
	if !fault.Is(err, fault.DependencyCycle) || strings.Join(path, " ") != "B C B" {
		t.Errorf("a circle: %v, path %v", err, path)
	}
	if n := b.count(); n != 2 {
		t.Errorf("%d jobs; want 2", n)
	}
}

func TestATimeInTheFutureHoldsAJob(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Spec: jobs.Spec{Title: "later", NotBefore: number(time.Now().Add(time.Hour))}})[0]
	if j.Status != jobs.Waiting || j.WaitReason != jobs.WaitNotBefore {
		t.Fatalf("%s %q", j.Status, j.WaitReason)
	}
	j, err := b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: j.Version,
		Spec: jobs.Spec{NotBefore: number(time.Now().Add(-time.Hour))}, Set: []string{"not_before"}})
	if err != nil || j.Status != jobs.Ready {
		t.Errorf("moved to the past: %s, %v; want ready", j.Status, err)
	}
}

func TestAnEditKeepsToItsVersion(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Spec: jobs.Spec{Title: "one"}})[0]
	edited, err := b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{Title: "two", Priority: 9,
		Body: "text", Capabilities: []string{"has:git"},
	}, Set: []string{"title", "priority", "body", "capabilities"}})
	if err != nil || edited.Title != "two" || edited.Version != 2 || edited.LaneID == j.LaneID {
		t.Fatalf("edited %+v, %v", edited, err)
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job_ready WHERE job_id = $1 AND priority = 9 AND lane_id = $2`, j.ID, edited.LaneID); n != 1 {
		t.Error("the ready row did not follow")
	}
	_, err = b.Patch(t.Context(), b.who, j.Key, jobs.Patch{Version: 1, Spec: jobs.Spec{Title: "three"}, Set: []string{"title"}})
	if !fault.Is(err, fault.VersionConflict) {
		t.Fatalf("a stale version: %v; want version_conflict", err)
	}
	if current, ok := fault.From(err).Details["job"].(jobs.Job); !ok || current.Title != "two" || current.Body != "text" {
		t.Errorf("the conflict carries %+v", current)
	}
}

func TestListsArePagedAndFiltered(t *testing.T) {
	b := setup(t)
	for i := range 7 {
		b.create(jobs.New{Spec: jobs.Spec{Title: fmt.Sprintf("job %d 100%%", i), Phase: []string{"M1", "M2"}[i%2], Tags: []string{"t"}},
			Priority: number(i)})
	}
	var keys []string
	filter := jobs.Filter{Limit: 3}
	for {
		page, next, err := b.List(t.Context(), b.who, filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page {
			keys = append(keys, j.Key)
		}
		if next == "" {
			break
		}
		filter.Cursor = next
	}
	if got := strings.Join(keys, " "); got != "FB-7 FB-6 FB-5 FB-4 FB-3 FB-2 FB-1" {
		t.Errorf("pages gave %s", got)
	}
	for name, c := range map[string]struct {
		filter jobs.Filter
		want   int
	}{
		"phase":         {jobs.Filter{Phase: "M2"}, 3},
		"priority":      {jobs.Filter{PriorityGTE: number(5)}, 2},
		"text":          {jobs.Filter{Query: "JOB 3"}, 1},
		"a percent":     {jobs.Filter{Query: "100%"}, 7},
		"only literal":  {jobs.Filter{Query: "1%0"}, 0},
		"key":           {jobs.Filter{Query: "fb-2"}, 1},
		"keys":          {jobs.Filter{Keys: []string{"FB-2", "FB-5", "fb-1", "none"}}, 2},
		"keys of M2":    {jobs.Filter{Keys: []string{"FB-2", "FB-5"}, Phase: "M2"}, 1},
		"tag":           {jobs.Filter{Tag: "t"}, 7},
		"status":        {jobs.Filter{Statuses: []jobs.Status{jobs.Completed}}, 0},
		"ready only":    {jobs.Filter{ReadyOnly: true}, 7},
		"updated since": {jobs.Filter{UpdatedSince: number(time.Now().Add(time.Hour))}, 0},
	} {
		list, _, err := b.List(t.Context(), b.who, c.filter)
		if err != nil || len(list) != c.want {
			t.Errorf("%s: %d jobs, %v; want %d", name, len(list), err, c.want)
		}
	}
	for name, f := range map[string]jobs.Filter{"limit": {Limit: 201}, "cursor": {Cursor: "x"}} {
		if _, _, err := b.List(t.Context(), b.who, f); !fault.Is(err, fault.Validation) {
			t.Errorf("bad %s: %v; want validation_failed", name, err)
		}
	}
}

func TestStatsCountWhatIsThere(t *testing.T) {
	b := setup(t)
	b.create(jobs.New{Spec: jobs.Spec{Title: "a"}}, jobs.New{Spec: jobs.Spec{Title: "b"}}, jobs.New{Spec: jobs.Spec{Title: "c",
		NotBefore: number(time.Now().Add(time.Hour))}})
	got, err := b.Stats(t.Context(), b.who)
	if err != nil || got.ByStatus[jobs.Ready] != 2 || got.ByStatus[jobs.Waiting] != 1 || got.OldestReadyAge == nil || got.Products[0].Product != "default" {
		t.Errorf("stats %+v, %v", got, err)
	}
}
