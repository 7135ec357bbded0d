package screens_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// asks makes blocked jobs of those with a title ask, as their agents would.
func (w *testWorkspace) asks(title string) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `UPDATE job SET status = 'blocked', question = 'Which?', wait_reason = '' WHERE title = $1`, title)
}

// What is listed and counted ends at a limit, and says so; another workspace has none
// of it.
func TestWhatWaitsForAPersonIsBounded(t *testing.T) {
	w := setup(t)
	like := w.job(jobs.New{Spec: jobs.Spec{Title: "like"}})
	w.crowd(like, 120, "failed")
	page, err := w.NeedsPage(t.Context(), w.who, fleet.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	if n := page.Count; len(page.List) != 100 || !page.More || n.Failed != (screens.Count{Jobs: 99, Capped: true}) || n.All() != n.Failed {
		t.Errorf("%d listed, more %v, counted %+v", len(page.List), page.More, n)
	}
	stranger := dbfactory.Person(dbfactory.Workspace(t, w.db), tenancy.RoleOwner)
	if page, err := w.NeedsPage(t.Context(), stranger, fleet.Snapshot{}); err != nil || len(page.List) != 0 || page.Count.All() != (screens.Count{}) {
		t.Errorf("a stranger sees %+v, %v", page, err)
	}
}

// Many of several kinds are "99+" together too.
func TestTheSumOfTheKindsIsCapped(t *testing.T) {
	n := screens.Needs{Questions: screens.Count{Jobs: 50}, Failed: screens.Count{Jobs: 50}}
	if all := n.All(); all != (screens.Count{Jobs: 99, Capped: true}) {
		t.Errorf("50 and 50 are %+v", all)
	}
	n.Failed.Jobs = 49
	if all := n.All(); all != (screens.Count{Jobs: 99}) {
		t.Errorf("50 and 49 are %+v", all)
	}
}

// Questions stand on top of Waiting, whatever their priority and however long the
// column is, and each of its jobs is on one page.
func TestQuestionsAreOnTopOfTheirColumn(t *testing.T) {
	for _, others := range []int{3, 120} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			w := setup(t)
			lowest := 0
			for i := range others {
				w.job(jobs.New{Spec: jobs.Spec{Title: fmt.Sprint("held ", i)}})
			}
			w.job(jobs.New{Spec: jobs.Spec{Title: "asks"}, Priority: &lowest})
			w.job(jobs.New{Spec: jobs.Spec{Title: "asks"}, Priority: &lowest})
			dbfactory.Exec(t, w.db, `UPDATE job SET status = 'paused' WHERE title LIKE 'held%'`)
			dbfactory.Exec(t, w.db, `DELETE FROM job_ready`)
			w.asks("asks")
			keys, first, _ := w.all(screens.Filter{}, screens.Waiting)
			if len(first.Cards) < 2 || first.Cards[0].Job.Title != "asks" || first.Cards[1].Job.Title != "asks" {
				t.Errorf("the questions are not on top")
			}
			slices.Sort(keys)
			if n := len(slices.Compact(slices.Clone(keys))); n != others+2 || len(keys) != n {
				t.Errorf("the pages have %d jobs, %d of them once; want %d", len(keys), n, others+2)
			}
			if first.Count != others+2 {
				t.Errorf("counted %d", first.Count)
			}
		})
	}
}

// A claim changes nothing that waits for a person, and is not counted for it.
func TestAClaimIsNotCounted(t *testing.T) {
	w := setup(t)
	agent := w.agent()
	place, err := w.Cursor(t.Context(), w.who)
	if err != nil {
		t.Fatal(err)
	}
	updates, err := w.Watch(t.Context(), w.who, place)
	if err != nil {
		t.Fatal(err)
	}
	// What the first update says includes what the fleet offers.
	job := w.job(jobs.New{Spec: jobs.Spec{Title: "one"}})
	next(t, updates, func(u *screens.Update) bool { return len(u.Changed) > 0 })
	w.claimAll(agent, 1)
	u := next(t, updates, func(u *screens.Update) bool { return len(u.Changed) > 0 })
	if u.Needs != nil {
		t.Errorf("the claim was counted: %+v", u.Needs)
	}
	if _, err := w.dispatch.Act(t.Context(), w.who, job.Key, actions.Action{Verb: jobs.ByRelease}); err != nil {
		t.Fatal(err)
	}
	next(t, updates, func(u *screens.Update) bool { return len(u.Changed) > 0 && u.Needs != nil })
}
