package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

func (w *testWorkspace) rank(j jobs.Job, r jobs.Rank) {
	w.T.Helper()
	if _, err := w.Jobs.Rank(w.Ctx, w.Owner, j.Key, r); err != nil {
		w.T.Fatal(err)
	}
}

// readyOrder returns the keys of what is ready as claims give it.
func (w *testWorkspace) readyOrder() []string {
	w.T.Helper()
	return strings.Fields(dbfactory.Text(w.T, w.DB, `SELECT coalesce(string_agg(j.key, ' ' ORDER BY r.priority DESC, r.place, r.tie_break), '')
		FROM job_ready r JOIN job j ON j.id = r.job_id WHERE j.workspace_id = $1`, w.Workspace))
}

// In whatever way people put jobs before and after others, claims give them in that order, over the
// lanes of a product; those that became ready in one moment too.
func TestClaimsFollowTheOrderThatPeopleWant(t *testing.T) {
	w := newTestWorkspace(t)
	offers := []string{"os:linux", "engine:claude"}
	var want []string
	var many []jobs.New
	for i := range 40 {
		need := offers[i%2 : i%2+1]
		many = append(many, jobs.New{Spec: jobs.Spec{Title: fmt.Sprint("batch ", i), Capabilities: need}})
	}
	batch, err := w.Jobs.Create(w.Ctx, w.Owner, nil, many...)
	if err != nil {
		t.Fatal(err)
	}
	made := batch.Jobs
	for i := range 25 {
		made = append(made, w.Job(fmt.Sprint("single ", i), needs(offers[i%2])))
	}
	w.Job("more urgent", priority(6), needs("os:linux"))
	want = w.readyOrder()[1:]
	for range 150 {
		key := want[rand.IntN(len(want))]
		want = slices.DeleteFunc(want, func(k string) bool { return k == key })
		at := rand.IntN(len(want))
		if rand.IntN(2) == 0 {
			w.rank(jobs.Job{Key: key}, jobs.Rank{Before: want[at]})
			want = slices.Insert(want, at, key)
		} else {
			w.rank(jobs.Job{Key: key}, jobs.Rank{After: want[at]})
			want = slices.Insert(want, at+1, key)
		}
	}
	w.Consistent()
	if order := w.readyOrder()[1:]; !slices.Equal(order, want) {
		t.Errorf("the order is\n%v instead of\n%v", order, want)
	}
	agent := w.Agent("ada")
	w.Claim(agent) // the more urgent one
	var got []string
	for range made {
		got = append(got, w.Claim(agent).Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("claims gave\n%v instead of\n%v", got, want)
	}
}

// What becomes of a rank: whatever else happens to a job, it keeps its rank until that is cleared, its
// priority changes, or it is over.
func TestWhatBecomesOfARank(t *testing.T) {
	act := func(w *testWorkspace, j jobs.Job, verbs ...jobs.Trigger) {
		for _, v := range verbs {
			if _, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: v, Reason: "so"}); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	edit := func(w *testWorkspace, j jobs.Job, spec jobs.Spec, field string) {
		if _, err := w.Jobs.Patch(w.Ctx, w.Owner, j.Key, jobs.Patch{Version: w.Get(j).Version, Spec: spec, Set: []string{field}}); err != nil {
			w.T.Fatal(err)
		}
	}
	claimed := func(w *testWorkspace, j jobs.Job) (held jobs.Job) {
		got, err := w.Dispatch.Claim(w.Ctx, w.Agent("smith"), claim.Request{Max: 1, Job: j.Key})
		if err != nil || len(got.Jobs) != 1 {
			w.T.Fatalf("%v: %v", got, err)
		}
		return got.Jobs[0]
	}
	for name, c := range map[string]struct {
		happens func(w *testWorkspace, j jobs.Job)
		ends    bool
	}{
		"nothing":           {happens: func(*testWorkspace, jobs.Job) {}},
		"pause and resume":  {happens: func(w *testWorkspace, j jobs.Job) { act(w, j, jobs.ByPause, jobs.ByResume) }},
		"block and unblock": {happens: func(w *testWorkspace, j jobs.Job) { act(w, j, jobs.ByBlock, jobs.ByUnblock) }},
		"another title":     {happens: func(w *testWorkspace, j jobs.Job) { edit(w, j, jobs.Spec{Title: "t"}, "title") }},
		"other needs": {happens: func(w *testWorkspace, j jobs.Job) {
			edit(w, j, jobs.Spec{Capabilities: []string{"os:linux"}}, "capabilities")
		}},
		"the same priority": {happens: func(w *testWorkspace, j jobs.Job) { edit(w, j, jobs.Spec{Priority: 5}, "priority") }},
		"another priority":  {happens: func(w *testWorkspace, j jobs.Job) { edit(w, j, jobs.Spec{Priority: 4}, "priority") }, ends: true},
		"there and back": {happens: func(w *testWorkspace, j jobs.Job) {
			edit(w, j, jobs.Spec{Priority: 4}, "priority")
			edit(w, j, jobs.Spec{Priority: 5}, "priority")
		}, ends: true},
		"a claim given back":     {happens: func(w *testWorkspace, j jobs.Job) { claimed(w, j); act(w, j, jobs.ByRelease) }},
		"a lost lease":           {happens: func(w *testWorkspace, j jobs.Job) { w.Expire(claimed(w, j)); w.recover() }},
		"a cancel and retry":     {happens: func(w *testWorkspace, j jobs.Job) { act(w, j, jobs.ByCancel, jobs.ByRetry) }, ends: true},
		"an end by hand":         {happens: func(w *testWorkspace, j jobs.Job) { act(w, j, jobs.ByFinish, jobs.ByRetry) }, ends: true},
		"another's rank":         {happens: func(w *testWorkspace, j jobs.Job) { w.rank(w.Job("last"), jobs.Rank{After: j.Key}) }},
		"a rank that is cleared": {happens: func(w *testWorkspace, j jobs.Job) { w.rank(j, jobs.Rank{}) }, ends: true},
		"a time in the future": {happens: func(w *testWorkspace, j jobs.Job) {
			at := time.Now().Add(time.Hour)
			edit(w, j, jobs.Spec{NotBefore: &at}, "not_before")
			edit(w, j, jobs.Spec{}, "not_before")
		}},
		"a failed attempt": {happens: func(w *testWorkspace, j jobs.Job) {
			held := claimed(w, j)
			if _, err := w.Dispatch.Fail(w.Ctx, w.Agent("smith"), ref(held), report.Failure{Kind: "other", Error: "x", Retryable: true}); err != nil {
				w.T.Fatal(err)
			}
			dbfactory.Exec(w.T, w.DB, `UPDATE job SET not_before = now() - interval '1 second' WHERE id = $1`, j.ID)
			w.recover()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			first, second := w.Job("first"), w.Job("second")
			j := w.Job("third")
			w.rank(j, jobs.Rank{Before: first.Key})
			c.happens(w, j)
			w.Want(j, jobs.Ready)
			if got := w.readyOrder()[0] == j.Key; got == c.ends {
				t.Errorf("the order is %v", w.readyOrder())
			}
			ranked := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_rank WHERE job_id = $1`, j.ID)
			if (ranked == 0) != c.ends {
				t.Errorf("%d ranks are kept", ranked)
			}
			_ = second
			w.Consistent()
		})
	}
}

func (w *testWorkspace) recover() {
	w.T.Helper()
	if _, err := w.Dispatch.Recover(w.Ctx, w.Owner); err != nil {
		w.T.Fatal(err)
	}
}

// A job that is not ready is ranked for the time when it is.
func TestARankWaitsForItsJob(t *testing.T) {
	w := newTestWorkspace(t)
	first := w.Job("first")
	late := w.Job("late")
	w.Act(late, jobs.ByPause)
	w.rank(late, jobs.Rank{Before: first.Key})
	w.rank(w.Job("between"), jobs.Rank{After: late.Key})
	w.Act(late, jobs.ByResume)
	if got := w.readyOrder(); !slices.Equal(got, []string{"FB-2", "FB-3", "FB-1"}) {
		t.Errorf("the order is %v", got)
	}
	w.Consistent()
}

func TestRanksThatAreRefused(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("other", jobs.ProductSettings{})
	one, urgent := w.Job("one"), w.Job("urgent", priority(9))
	elsewhere, waits := w.Job("elsewhere", inProduct("other")), w.Job("waits", dependsOn(one.Key))
	over := w.Job("over")
	w.Act(over, jobs.ByCancel)
	foreign := inWorkspace(t, w.DB, dbfactory.Workspace(t, w.DB)).Job("foreign")
	for name, c := range map[string]struct {
		job  jobs.Job
		rank jobs.Rank
		code fault.Code
		why  string
	}{
		"another priority":      {one, jobs.Rank{Before: urgent.Key}, fault.OtherOrder, "priority"},
		"another product":       {one, jobs.Rank{After: elsewhere.Key}, fault.OtherOrder, "product"},
		"one that is not ready": {one, jobs.Rank{After: waits.Key}, fault.OtherOrder, "no_place"},
		"another workspace":     {one, jobs.Rank{After: foreign.ID.String()}, fault.NotFound, ""},
		"of another workspace":  {foreign, jobs.Rank{After: one.Key}, fault.NotFound, ""},
		"none":                  {one, jobs.Rank{Before: "FB-999"}, fault.NotFound, ""},
		"itself":                {one, jobs.Rank{Before: one.Key}, fault.Validation, ""},
		"both":                  {one, jobs.Rank{Before: urgent.Key, After: urgent.Key}, fault.Validation, ""},
		"of one that is over":   {over, jobs.Rank{Before: one.Key}, fault.InvalidTransition, ""},
		"cleared, of one over":  {over, jobs.Rank{}, fault.InvalidTransition, ""},
	} {
		_, err := w.Jobs.Rank(w.Ctx, w.Owner, c.job.ID.String(), c.rank)
		if f := fault.From(err); f.Code != c.code || c.why != "" && f.Details["why"] != c.why {
			t.Errorf("%s: %v %v", name, err, f.Details)
		}
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_rank`); n != 0 {
		t.Errorf("%d ranks are kept", n)
	}
}

// Steps go by the order of a product's jobs that are as urgent, whatever stands between them.
func TestStepsInTheOrder(t *testing.T) {
	w := newTestWorkspace(t)
	w.Product("other", jobs.ProductSettings{})
	for i := range 4 {
		w.Job(fmt.Sprint(i), needs([]string{"os:linux", "engine:claude"}[i%2]))
		w.Job("between", inProduct("other"))
		w.Job("urgent", priority(9))
	}
	own := func() (keys []string) {
		for _, key := range w.readyOrder() {
			if slices.Contains([]string{"FB-1", "FB-4", "FB-7", "FB-10"}, key) {
				keys = append(keys, key)
			}
		}
		return keys
	}
	for _, c := range []struct {
		step jobs.Step
		key  string
		want []string
	}{
		{jobs.Up, "FB-1", []string{"FB-1", "FB-4", "FB-7", "FB-10"}},
		{jobs.Up, "FB-7", []string{"FB-1", "FB-7", "FB-4", "FB-10"}},
		{jobs.Down, "FB-1", []string{"FB-7", "FB-1", "FB-4", "FB-10"}},
		{jobs.ToTop, "FB-10", []string{"FB-10", "FB-7", "FB-1", "FB-4"}},
		{jobs.ToTop, "FB-10", []string{"FB-10", "FB-7", "FB-1", "FB-4"}},
		{jobs.Down, "FB-4", []string{"FB-10", "FB-7", "FB-1", "FB-4"}},
	} {
		if _, err := w.Jobs.Step(w.Ctx, w.Owner, c.key, c.step); err != nil {
			t.Fatal(err)
		}
		if got := own(); !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %v, want %v", c.key, c.step, got, c.want)
		}
	}
	w.Consistent()
}

// Undoing a move brings the rank back that the job had before, or none.
func TestAMoveIsUndone(t *testing.T) {
	w := newTestWorkspace(t)
	w.Job("first")
	w.Job("second")
	third := w.Job("third")
	undo := func(want ...string) {
		t.Helper()
		if _, err := w.Dispatch.Undo(w.Ctx, w.Owner, third.Key, w.Get(third).Version); err != nil {
			t.Fatal(err)
		}
		if got := w.readyOrder(); !slices.Equal(got, want) {
			t.Errorf("the order is %v, want %v", got, want)
		}
	}
	w.rank(third, jobs.Rank{Before: "FB-1"})
	undo("FB-1", "FB-2", "FB-3")
	w.rank(third, jobs.Rank{After: "FB-1"})
	w.rank(third, jobs.Rank{Before: "FB-1"})
	undo("FB-1", "FB-3", "FB-2")
	w.Consistent()
}

// A claim that is taking the job wins, and the move is made once it has.
func TestAMoveAndAClaimTogether(t *testing.T) {
	w := newTestWorkspace(t)
	first, second := w.Job("first"), w.Job("second")
	moved := make(chan error, 1)
	err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
		_, err := tx.Exec(w.Ctx, `SELECT FROM job_ready WHERE job_id = $1 FOR UPDATE`, second.ID)
		go func() {
			_, err := w.Jobs.Rank(w.Ctx, w.Owner, second.Key, jobs.Rank{Before: first.Key})
			moved <- err
		}()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-moved; err != nil && !db.IsLocked(err) {
		t.Fatal(err)
	}
	w.Consistent()
}

// What a person ranks ages like the job it is put next to.
func TestARankedJobAges(t *testing.T) {
	w := newTestWorkspace(t)
	w.ageBy(10)
	first := w.Job("first")
	w.waited(11)
	j := w.Job("new")
	w.rank(j, jobs.Rank{Before: first.Key})
	if n := w.age(); n != 2 {
		t.Errorf("%d jobs were raised", n)
	}
	if got := w.readyOrder(); !slices.Equal(got, []string{"FB-2", "FB-1"}) {
		t.Errorf("the order is %v", got)
	}
	w.rank(j, jobs.Rank{After: first.Key})
	if got := w.readyOrder(); !slices.Equal(got, []string{"FB-1", "FB-2"}) {
		t.Errorf("the order is %v", got)
	}
	w.Consistent()
	w.rank(j, jobs.Rank{})
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_ready r JOIN job j ON j.id = r.job_id
		WHERE j.key = 'FB-2' AND r.priority = 5 AND r.raised = 0 AND r.place = r.ready_at`); n != 1 {
		t.Error("without a rank it does not stand where its own waiting puts it")
	}
	w.Consistent()
}

// The age of the job that is ready longest is told, also of one that a person has put others before.
func TestTheOldestReadyJobIsKnownThoughOthersAreRanked(t *testing.T) {
	w := newTestWorkspace(t)
	old := w.Job("old")
	w.waited(70)
	for _, title := range []string{"new", "newer"} {
		w.rank(w.Job(title), jobs.Rank{Before: old.Key})
	}
	stats, err := w.Jobs.Stats(w.Ctx, w.Owner)
	if err != nil {
		t.Fatal(err)
	}
	if age := stats.OldestReadyAge; age == nil || *age < 70*time.Minute {
		t.Errorf("the oldest ready job is ready for %v", age)
	}
}
