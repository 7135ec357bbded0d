package factory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// A worker has two jobs while the server is away, for FLEETBOARD_OUTAGE_SECONDS, and ends
// both meanwhile. The one whose lease still holds is completed afterwards, once. The lease of
// the other one ran out and another worker has the job: the work goes into quarantine, and
// nothing of it is pushed.
func TestTwoJobsOutliveAnOutage(t *testing.T) {
	t.Parallel()
	outage := time.Duration(envtest.Number(t, "FLEETBOARD_OUTAGE_SECONDS", 3)) * time.Second
	s := newServerAndRepos(t)
	cut := newProxy(t, s.address)
	desk := s.worker("desk", "--server", cut.url(), "--seats", "2", "--lease", (outage + 5*time.Minute).String())
	kept, lost := s.submit(s.held("kept")), s.submit(s.held("lost"))
	s.untilFile("kept-1")
	s.untilFile("lost-1")

	cut.set(true)
	over := time.After(outage)
	s.release("kept-1", "lost-1")
	s.until("both reports are written down", func() bool { return s.unsent("desk") == 2 })
	s.lapse(lost)
	basalt := s.worker("basalt")
	s.untilFile("lost-2")
	<-over
	if kept := s.job(kept); s.unsent("desk") != 2 || kept.Lease == nil || kept.Lease.Agent != "desk" {
		t.Fatalf("%d reports wait, and %s has the lease %+v", s.unsent("desk"), kept.Key, kept.Lease)
	}

	cut.set(false)
	s.untilStatus(kept, "completed")
	s.until("the work of the lost one is in quarantine", func() bool {
		return slices.Contains(s.branches(s.mirror("desk", "ledger")), s.quarantined(lost, 1))
	})
	if got := s.git(s.mirror("desk", "ledger"), "show", s.quarantined(lost, 1)+":lost.txt"); got != "by 1" {
		t.Errorf("in quarantine the file says %q", got)
	}
	s.release("lost-2")
	s.untilStatus(lost, "completed")
	s.until("nothing is left to send", func() bool { return s.unsent("desk")+s.unsent("basalt") == 0 })
	s.judge(kept)
	s.judge(lost)
	for key, by := range map[string]*processtest.Process{s.branch(kept, 1): desk, s.branch(lost, 2): basalt} {
		if n := strings.Count(by.Output(), "pushed "+key); n != 1 {
			t.Errorf("%s was pushed %d times", key, n)
		}
	}
	if j := s.job(kept); j.Attempts != 1 || count(s.events(kept), "job.completed") != 1 {
		t.Errorf("%s has %d attempts and the history %v", kept, j.Attempts, s.events(kept))
	}
	if j := s.job(lost); j.Attempts != 2 || j.LostCount != 1 || count(s.events(lost), "job.completed") != 1 {
		t.Errorf("%s has %d attempts and the history %v", lost, j.Attempts, s.events(lost))
	}
}

// held returns a step that says "NAME-EPOCH" by a file when it begins, and goes on once it is
// released.
func (s *serverAndRepos) held(name string) step {
	at := filepath.Join(s.dir, name) + "-$FLEETBOARD_EPOCH"
	return step{"run": fmt.Sprintf("touch %[1]s; until test -e %[1]s-go; do sleep 0.1; done; echo by $FLEETBOARD_EPOCH > %[2]s.txt", at, name)}
}

// release lets steps go on that are held.
func (s *serverAndRepos) release(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(s.dir, name+"-go"), nil, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// unsent returns how many reports wait in a worker's outbox.
func (s *serverAndRepos) unsent(worker string) int {
	files, _ := filepath.Glob(filepath.Join(s.state(worker), "outbox", "*.json")) // the pattern is a good one
	return len(files)
}

// lapse ends a job's lease as time would.
func (s *serverAndRepos) lapse(key string) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(s.t.Context()) }()
	done, err := conn.Exec(s.t.Context(),
		`UPDATE job_lease SET expires_at = now() WHERE job_id = (SELECT id FROM job WHERE key = $1)`, key)
	if err != nil || done.RowsAffected() != 1 {
		s.t.Fatalf("%v: %s", err, done)
	}
}
