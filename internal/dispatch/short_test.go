package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

func (w *testWorkspace) shortJobsFirst(yes bool) {
	w.T.Helper()
	if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, setting.Change{ShortJobsFirst: &yes}); err != nil {
		w.T.Fatal(err)
	}
}

// estimated returns a job with an estimate, 0 for none.
func estimated(minutes int) func(*jobs.New) {
	if minutes == 0 {
		return func(*jobs.New) {}
	}
	return estimate(minutes)
}

// Of jobs as urgent the short ones come first, and none waits for ever: what becomes ready 8 hours after a
// job is given out after it, however short it is.
func TestShortJobsComeFirstAndNoneStarves(t *testing.T) {
	w := newTestWorkspace(t)
	w.shortJobsFirst(true)
	agent := w.Agent("ada")
	type waits struct{ ready, estimate int }
	ready := map[string]waits{}
	now := 0
	for step := range 120 {
		if step < 80 {
			minutes := []int{1, 5, 30, 120, 480, 2000, 0}[rand.IntN(7)]
			j := w.Job(fmt.Sprint(step), estimated(minutes), needs([]string{"os:linux", "engine:claude"}[step%2]))
			ready[j.Key] = waits{now, minutes}
		}
		if step%3 > 0 && len(ready) > 0 {
			got := w.Claim(agent).Key
			claimed := ready[got]
			delete(ready, got)
			for key, other := range ready {
				if place(claimed.ready, claimed.estimate) > place(other.ready, other.estimate) {
					t.Fatalf("%s (%v) was given before %s (%v)", got, claimed, key, other)
				}
				if claimed.ready > other.ready+480 {
					t.Fatalf("%s became ready %d minutes after %s, which waits", got, claimed.ready-other.ready, key)
				}
			}
		}
		minutes := rand.IntN(60)
		now += minutes
		w.waited(minutes)
	}
	w.Consistent()
}

// place is where a job stands: its estimate after it became ready, 8 hours at most and without one.
func place(ready, minutes int) int {
	if minutes == 0 || minutes > 480 {
		minutes = 480
	}
	return ready + minutes
}

// A change of the setting, or of an estimate, moves what is ready; what people have ranked stays.
func TestShortJobsFirstIsSwitched(t *testing.T) {
	w := newTestWorkspace(t)
	for _, minutes := range []int{300, 0, 10} {
		w.Job(fmt.Sprint(minutes), estimated(minutes))
	}
	ranked := w.Job("ranked", estimate(200))
	w.rank(ranked, jobs.Rank{Before: "FB-1"})
	in := func(what string, want ...string) {
		t.Helper()
		w.age()
		if got := w.readyOrder(); !slices.Equal(got, want) {
			t.Errorf("%s: %v; want %v", what, got, want)
		}
		w.Consistent()
	}
	in("as they became ready", "FB-4", "FB-1", "FB-2", "FB-3")
	w.shortJobsFirst(true)
	in("short ones first", "FB-4", "FB-3", "FB-1", "FB-2")
	j := w.Get(jobs.Job{Key: "FB-2"})
	if _, err := w.Jobs.Patch(w.Ctx, w.Owner, j.Key, jobs.Patch{Version: j.Version, Spec: jobs.Spec{EstimatedMinutes: number(5)},
		Set: []string{"estimated_minutes"}}); err != nil {
		t.Fatal(err)
	}
	in("another estimate", "FB-4", "FB-2", "FB-3", "FB-1")
	w.rank(ranked, jobs.Rank{})
	in("without the rank", "FB-2", "FB-3", "FB-4", "FB-1")
	w.shortJobsFirst(false)
	in("as they became ready again", "FB-1", "FB-2", "FB-3", "FB-4")
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM dispatch_setting WHERE placed_version = version`); n != 1 {
		t.Error("the jobs are placed again and again")
	}
}
