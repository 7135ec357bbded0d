package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// ageBy makes waiting count after so many minutes.
func (w *testWorkspace) ageBy(minutes int) {
	w.T.Helper()
	if _, err := w.Dispatch.ChangeDispatch(w.Ctx, w.Owner, setting.Change{AgeingMinutes: &minutes}); err != nil {
		w.T.Fatal(err)
	}
}

func (w *testWorkspace) age() int {
	w.T.Helper()
	n, err := w.Dispatch.AgeReady(w.Ctx)
	if err != nil {
		w.T.Fatal(err)
	}
	return n
}

// waited lets minutes pass for all that is ready.
func (w *testWorkspace) waited(minutes int) {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `WITH r AS (UPDATE job_ready SET place = place - make_interval(mins => $1),
			ready_at = ready_at - make_interval(mins => $1) RETURNING job_id, ready_at)
		UPDATE job j SET ready_at = r.ready_at FROM r WHERE j.id = r.job_id`, minutes)
}

// Whatever has become ready when, and whenever the loop looks: a job that has waited for k times
// the minutes is more urgent by k, and at each priority those come first that came there first.
func TestWaitingMakesUrgent(t *testing.T) {
	w := newTestWorkspace(t)
	const minutes = 7
	if n := w.age(); n != 0 {
		t.Errorf("%d jobs were raised where nobody wants that", n)
	}
	w.ageBy(minutes)
	for i := range 60 {
		w.Job(fmt.Sprint(i), priority(rand.IntN(11)), needs([]string{"os:linux", "engine:claude"}[i%2]))
		w.waited(rand.IntN(3) * rand.IntN(3))
		if rand.IntN(4) == 0 {
			w.age()
		}
	}
	w.age()
	if n := w.age(); n != 0 {
		t.Errorf("%d jobs were raised twice", n)
	}
	for what, sql := range map[string]string{
		"not as urgent as their waiting makes them": `SELECT count(*) FROM job_ready r JOIN job j ON j.id = r.job_id
			WHERE r.priority <> least(10, j.priority + floor(extract(epoch FROM now() - r.ready_at) / (60 * $1)))`,
		"raised by what does not show": `SELECT count(*) FROM job_ready r JOIN job j ON j.id = r.job_id WHERE r.priority <> j.priority + r.raised AND $1 > 0`,
		"not where they came to their priority": `SELECT count(*) FROM job_ready r
			WHERE r.place <> r.ready_at + make_interval(mins => r.raised * $1)`,
	} {
		if n := dbfactory.Int(t, w.DB, sql, minutes); n != 0 {
			t.Errorf("%d jobs are %s", n, what)
		}
	}
	// An edit leaves what waiting has made of a job, and adds to it what the person wants.
	key := dbfactory.Text(t, w.DB, `SELECT j.key FROM job j JOIN job_ready r ON r.job_id = j.id WHERE r.raised > 0 AND j.priority > 0 LIMIT 1`)
	j, err := w.Jobs.Get(w.Ctx, w.Owner, key)
	if err != nil {
		t.Fatal(err)
	}
	edit := jobs.Patch{Version: j.Version, Spec: jobs.Spec{Title: "another title", Priority: j.Priority - 1}, Set: []string{"title", "priority"}}
	if _, err := w.Jobs.Patch(w.Ctx, w.Owner, key, edit); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_ready r JOIN job j ON j.id = r.job_id
		WHERE j.key = $1 AND r.priority = least(10, j.priority + r.raised) AND r.raised > 0`, key); n != 1 {
		t.Error("an edit took what the job had gained by waiting")
	}
	w.Consistent()
}

// A job of priority p is claimed after at most (10-p+1) times the minutes and what stood before
// it at the top, however many urgent jobs come.
func TestNoJobStarves(t *testing.T) {
	for _, own := range []int{0, 3, 9} {
		t.Run(fmt.Sprint("priority ", own), func(t *testing.T) {
			w := newTestWorkspace(t)
			const minutes, backlog, each = 10, 5, 2
			w.ageBy(minutes)
			agent := w.Agent("ada")
			low := w.Job("low", priority(own))
			for range backlog {
				w.Job("urgent", priority(10))
			}
			// As many urgent jobs come as are claimed: there are always some.
			most := (10-own+1)*minutes/5 + (backlog+each)/each
			for step := 1; ; step++ {
				for range each {
					w.Job("urgent", priority(10))
				}
				for range each {
					if w.Claim(agent).Key == low.Key {
						return
					}
				}
				if step > most {
					t.Fatalf("it waits after %d steps", step)
				}
				w.waited(5)
				w.age()
			}
		})
	}
}

// One transaction raises a bounded number of jobs, and what is claimed at that moment is left.
func TestAgeingWaitsForNobody(t *testing.T) {
	w := newTestWorkspace(t)
	w.ageBy(1)
	first := w.Job("first")
	w.Job("second")
	w.waited(1)
	err := w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
		_, err := tx.Exec(w.Ctx, `SELECT FROM job_ready WHERE job_id = $1 FOR UPDATE`, first.ID)
		if n := w.age(); n != 1 {
			t.Errorf("%d jobs were raised beside one that is locked", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.age(); n != 1 {
		t.Errorf("%d jobs were raised afterwards", n)
	}
}

// The age of the job that is ready longest is told, also of one that waits behind others that it has
// come to by being raised.
func TestTheOldestReadyJobIsKnownThoughItWasRaised(t *testing.T) {
	w := newTestWorkspace(t)
	w.ageBy(10)
	w.Job("low", priority(0))
	w.waited(35)
	w.Job("urgent", priority(4))
	w.waited(36)
	w.age()
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_ready WHERE priority = 7`); n != 2 {
		t.Fatalf("%d jobs stand at one priority; want 2", n)
	}
	stats, err := w.Jobs.Stats(w.Ctx, w.Owner)
	if err != nil {
		t.Fatal(err)
	}
	if age := stats.OldestReadyAge; age == nil || *age < 71*time.Minute {
		t.Errorf("the oldest ready job is ready for %v", age)
	}
}
