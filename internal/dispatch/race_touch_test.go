package dispatch_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// touches says as a holder which files it touches.
func (w *testWorkspace) touches(agent tenancy.Principal, held jobs.Job, files ...string) error {
	_, err := w.Dispatch.Progress(w.Ctx, agent, ref(held), report.Progress{Files: files})
	return err
}

// atOnce runs functions at the same time, and asserts that none fails.
func (w *testWorkspace) atOnce(list ...func() error) {
	w.T.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(list))
	for i, run := range list {
		all.Go(func() { errs[i] = run() })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			w.T.Error(err)
		}
	}
}

// Agents that say at the same moment that they touch one file all learn of one another, and whatever
// ends meanwhile leaves nothing behind.
func TestRacesForTouchedFiles(t *testing.T) {
	w := newTestWorkspace(t)
	const crew = 6
	var agents []tenancy.Principal
	for i := range crew {
		agents = append(agents, w.Agent(fmt.Sprint("claude-", i)))
	}
	for round := range 8 {
		var held []jobs.Job
		for i := range crew {
			w.Job(fmt.Sprint("job ", round, i), inRepo("ledger-api"))
			held = append(held, w.Claim(agents[i]))
		}
		var says, ends []func() error
		for i := range crew {
			says = append(says, func() error { return w.touches(agents[i], held[i], "go.mod", fmt.Sprint("own/", i)) })
			ends = append(ends, func() error {
				_, err := w.Dispatch.Complete(w.Ctx, agents[i], ref(held[i]), report.Completion{})
				return err
			})
		}
		w.atOnce(says...)
		if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM job_collision WHERE paths = '{go.mod}' AND path_count = 1"); n != crew*(crew-1) {
			t.Fatalf("round %d: %d sides of collisions; want %d", round, n, crew*(crew-1))
		}
		// Half of them end while the others say more.
		more := func(i int) func() error { return func() error { return w.touches(agents[i], held[i], "go.sum") } }
		w.atOnce(ends[0], more(3), ends[1], more(4), ends[2], more(5))
		w.atOnce(append(ends[3:5:5], more(5))...)
		if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM job_collision"); n != 0 {
			t.Fatalf("round %d: the last one collides with %d", round, n)
		}
		if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM touched_path WHERE job_id <> $1", held[5].ID); n != 0 {
			t.Fatalf("round %d: %d paths are left of others", round, n)
		}
		w.atOnce(ends[5])
		if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM touched_path"); n != 0 {
			t.Fatalf("round %d: %d paths are left", round, n)
		}
	}
	begun := dbfactory.Int(t, w.DB, "SELECT count(*) FROM event WHERE type = 'job.collided'")
	over := dbfactory.Int(t, w.DB, "SELECT count(*) FROM event WHERE type = 'job.collision_ended'")
	// Those that end together are told of nothing.
	if begun != 8*crew*(crew-1) || over == 0 || over > begun/2 {
		t.Errorf("%d collisions begin and %d end for those that are left", begun, over)
	}
	w.Consistent()
}

// A lease that ends between what its agent says and the comparison touches nothing.
func TestAnEndComesBeforeTheComparison(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", inRepo("ledger-api"))
	held := w.Claim(agent)
	said := make(chan error, 1)
	tx, err := dbtest.Owner(t, w.DB).Begin(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	const lock = `SELECT pg_advisory_xact_lock(hashtextextended('touch:' || $1::text || ':ledger-api', 0))`
	if _, err := tx.Exec(w.Ctx, lock, w.Workspace.String()); err != nil {
		t.Fatal(err)
	}
	go func() { said <- w.touches(agent, held, "go.mod") }()
	const waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	for dbfactory.Int(t, w.DB, waiting) == 0 {
		runtime.Gosched()
	}
	dbfactory.Exec(t, w.DB, "UPDATE job_lease SET expires_at = now() WHERE job_id = $1", held.ID)
	if err := tx.Rollback(w.Ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-said; err != nil {
		t.Error(err)
	}
	if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM touched_path"); n != 0 {
		t.Errorf("%d paths are kept", n)
	}
}

// A job has no more collisions than it may, and neither has one that comes later.
func TestAJobCollidesWithSoManyOthers(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	var held []jobs.Job
	for i := range 23 {
		w.Job(fmt.Sprint("job ", i), inRepo("ledger-api"))
		held = append(held, w.Claim(agent))
	}
	for _, j := range held {
		if err := w.touches(agent, j, "go.mod"); err != nil {
			t.Fatal(err)
		}
	}
	if n := dbfactory.Int(t, w.DB, "SELECT max(n) FROM (SELECT count(*)::int AS n FROM job_collision GROUP BY job_id) c"); n != 20 {
		t.Errorf("a job collides with %d others; want 20", n)
	}
	if n := dbfactory.Int(t, w.DB, "SELECT count(*)::int FROM job_collision WHERE job_id = $1", held[22].ID); n != 20 {
		t.Errorf("the last one collides with %d others; want 20", n)
	}
}

// A path that holds the secret of a job is kept without it.
func TestTouchedFilesHoldNoSecret(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", inRepo("ledger-api"), func(n *jobs.New) {
		n.InputContext, n.SecretKeys = []byte(`{"TOKEN":"canary-7f3a-long"}`), []string{"TOKEN"}
	})
	if err := w.touches(agent, w.Claim(agent), "keys/canary-7f3a-long.pem", "go.mod"); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM touched_path WHERE path LIKE '%canary%'"); n != 0 {
		t.Error("the secret is kept")
	}
	if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM touched_path"); n != 2 {
		t.Errorf("%d paths are kept", n)
	}
}

// A path that is too long without the secrets in it is not compared, and the rest is.
func TestTouchedFilesThatGetTooLongAreLeftOut(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", inRepo("ledger-api"), func(n *jobs.New) {
		n.InputContext, n.SecretKeys = []byte(`{"TOKEN":"k7f3"}`), []string{"TOKEN"}
	})
	long := strings.Repeat("\U0001F600", 190) + strings.Repeat("k7f3", 64)
	if err := w.touches(agent, w.Claim(agent), long, "go.mod"); err != nil {
		t.Fatal(err)
	}
	if n := dbfactory.Int(t, w.DB, "SELECT count(*) FROM touched_path WHERE path = 'go.mod'"); n != 1 {
		t.Error("the other file is not kept")
	}
}
