package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// cluster is everything that runs: the database, the servers, the agents and the
// person, with their logs in one directory.
type cluster struct {
	t        *testing.T
	dir      string
	postgres *postgres
	webs     []*web
	workers  []*worker
	person   *person
}

// keptDir returns a directory that every user may pass through. It stays where the
// test fails.
func keptDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fleetboard-chaos-run-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs, diaries and database are kept in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// newCluster sets everything up; nothing works on anything yet.
func newCluster(ctx context.Context, t *testing.T, servers, agents int) *cluster {
	t.Helper()
	s := &cluster{t: t, dir: keptDir(t)}
	s.postgres = newPostgres(t, s.dir)
	s.webs = newWebs(t, servers, s.postgres.url, s.dir)
	var urls []string
	for _, w := range s.webs {
		if err := w.launch(ctx); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, w.url())
	}
	s.populate(ctx, urls, agents)
	return s
}

// populate starts agents and readies the person. They reach the servers by the addresses of their APIs.
func (s *cluster) populate(ctx context.Context, urls []string, agents int) {
	s.t.Helper()
	s.workers = newWorkers(s.t, agents, urls, token(s.t, s.dir, "enrolment-token"), s.dir)
	for _, w := range s.workers {
		if err := w.launch(); err != nil {
			s.t.Fatal(err)
		}
	}
	owner := token(s.t, s.dir, "owner-token")
	s.person = &person{}
	odd := func(status int, body []byte) { s.person.note(line{Verb: "odd", Status: status, Note: string(body)}) }
	var err error
	if s.person.net, err = callertest.New(urls, func() string { return owner }, odd); err != nil {
		s.t.Fatal(err)
	}
	if err := s.person.found(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// submitters is how many jobs may be in the making at once.
const submitters = 4

// submitFor has the person submit and meddle for a while, and tend until ctx
// ends. It returns when the last job is submitted; tended waits for the rest.
func (s *cluster) submitFor(ctx context.Context, length time.Duration) (tended *sync.WaitGroup) {
	short, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	tended = &sync.WaitGroup{}
	tended.Go(func() { callertest.Every(ctx, 400*time.Millisecond, func() { s.person.tend(ctx) }) })
	var busy sync.WaitGroup
	busy.Go(func() { callertest.Every(short, 700*time.Millisecond, func() { s.person.meddle(ctx) }) })
	var n atomic.Int64
	for range submitters {
		busy.Go(func() { callertest.Every(short, 600*time.Millisecond, func() { s.person.submit(ctx, n.Add(1)) }) })
	}
	busy.Wait()
	return tended
}

// settle waits until every job has ended.
func (s *cluster) settle(ctx context.Context, limit time.Duration) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	open, err := -1, error(nil)
	callertest.Every(ctx, 500*time.Millisecond, func() {
		err = s.postgres.ask(ctx, func(conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT count(*) FROM job WHERE status NOT IN ('completed', 'failed', 'aborted')`).Scan(&open)
		})
		if err == nil && open == 0 {
			cancel()
		}
	})
	if open != 0 {
		s.t.Errorf("%d jobs have not ended within %s (%v)", open, limit, err)
	}
}

// alive asserts that every server answers and that no process went by itself.
func (s *cluster) alive(ctx context.Context) {
	s.t.Helper()
	for _, w := range s.webs {
		if w.proc.Gone() || !processtest.IsReady(ctx, w.address) {
			s.t.Errorf("%s is not ready at the end, see %s", w.name, w.log)
		}
	}
	for _, w := range s.workers {
		if w.proc.Gone() {
			s.t.Errorf("%s went by itself, see %s", w.Name, w.log)
		}
	}
}

// quiet ends the agents, so that nothing changes any more.
func (s *cluster) quiet() {
	for _, w := range s.workers {
		if err := w.proc.End(syscall.SIGKILL); err != nil {
			s.t.Error(err)
		}
	}
}

// diaries returns all answers that the agents wrote down.
func (s *cluster) diaries() []line {
	s.t.Helper()
	var all []line
	for _, w := range s.workers {
		list, err := readDiary(w.Journal)
		if err != nil {
			s.t.Error(err)
		}
		all = append(all, list...)
	}
	return all
}

// run runs one of the server's own checks on the database.
func (s *cluster) run(ctx context.Context, check string) error {
	cmd := exec.CommandContext(ctx, serverBinary, check)
	cmd.Env = s.webs[0].env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("web %s: %w", check, err), os.WriteFile(filepath.Join(s.dir, check+".log"), out, 0o644))
	}
	s.t.Logf("web %s:\n%s", check, out)
	return nil
}
