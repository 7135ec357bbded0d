package factory

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// Thirty jobs, or as many as there are seconds of it, on three
// workers, while workers, their programs and the server are killed, a worker is stopped for
// longer than its leases, and another one is cut off. In the end each job is done, its
// branch is the one of the attempt that was accepted, nothing was pushed by an attempt that
// was fenced, gc leaves no worktree, and the log is whole.
func TestThirtyJobsUnderKills(t *testing.T) {
	seconds, seed := envtest.Number(t, "FLEETBOARD_CHAOS_SECONDS", 30), envtest.Number(t, "FLEETBOARD_CHAOS_SEED", time.Now().UnixNano()%1_000_000)
	t.Logf("FLEETBOARD_CHAOS_SEED=%d, %d seconds", seed, seconds)
	s := newServerAndRepos(t)
	cut := newProxy(t, s.address)
	workers := []*processtest.Process{
		s.worker("atlas", "--seats", "2"),
		s.worker("basalt", "--seats", "2"),
		s.worker("cinder", "--server", cut.url()),
	}
	var keys []string
	many := 20
	for i := range max(30, seconds) {
		work := fmt.Sprintf("echo $FLEETBOARD_EPOCH >> job-%d.txt; sleep 0.%d", i, i%10)
		keys = append(keys, s.submitAs(api.NewJob{Title: "One of thirty", Repo: new("ledger"), MaxRetries: &many, MaxLost: &many, RetryBackoffSeconds: new(1)},
			step{"step": "begins", "run": work}, step{"step": "goes on", "sleep_ms": 2500}, step{"run": work}))
	}
	m := &monkey{s: s, workers: workers, cut: cut, draw: rand.New(rand.NewPCG(uint64(seed), 0))}
	m.rage(time.Duration(seconds) * time.Second)
	for _, key := range keys {
		s.untilStatus(key, api.JobStatusCompleted)
	}
	for _, w := range workers {
		w.Signal(syscall.SIGTERM)
		w.AwaitEnd(patience)
	}
	t.Logf("done to them: %v", m.did)
	for _, key := range keys {
		s.judge(key)
	}
	s.judgeHouse()
}

// monkey does what hosts suffer.
type monkey struct {
	s       *serverAndRepos
	workers []*processtest.Process
	cut     *proxy
	draw    *rand.Rand
	did     []string
}

// rage goes on for a time, and leaves everything running.
func (m *monkey) rage(d time.Duration) {
	over := time.After(d)
	for {
		pause := time.NewTimer(time.Duration(300+m.draw.IntN(1500)) * time.Millisecond)
		select {
		case <-over:
			return
		case <-pause.C:
			m.strike()
		}
	}
}

// strike does one thing, and mends it after a while.
func (m *monkey) strike() {
	w := m.workers[m.draw.IntN(len(m.workers))]
	switch m.draw.IntN(8) {
	case 0, 1, 2:
		m.note("worker killed")
		w.Kill()
		m.wait(500)
		w.Start()
	case 3, 4:
		m.note("programs killed")
		_ = exec.Command("pkill", "-KILL", "-f", "echo .FLEETBOARD_EPOCH").Run() //nolint:noctx // it ends at once; often there is none
	case 5:
		m.note("server killed")
		m.s.server.Kill()
		m.wait(1500)
		m.s.startServer()
	case 6:
		m.note("worker stopped")
		w.Signal(syscall.SIGSTOP)
		m.wait(14_000) // its leases last ten seconds
		w.Signal(syscall.SIGCONT)
	case 7:
		m.note("worker cut off")
		m.cut.set(true)
		m.wait(3000 + m.draw.IntN(10_000))
		m.cut.set(false)
	}
}

func (m *monkey) note(what string) { m.did = append(m.did, what) }

func (m *monkey) wait(milliseconds int) {
	<-time.After(time.Duration(milliseconds) * time.Millisecond)
}

// judge looks at a job's branches: that of the accepted attempt is at the origin with the
// commit that was handed in; one that was fenced is not.
func (s *serverAndRepos) judge(key string) {
	s.t.Helper()
	answer, err := s.person.ListAttemptsWithResponse(s.t.Context(), key, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	pushed, accepted := s.branches(s.origin("ledger")), 0
	for _, a := range answer.JSON200.Items {
		branch := s.branch(key, a.Epoch)
		there := slices.Contains(pushed, branch)
		switch a.Outcome {
		case api.AttemptOutcomeCompleted:
			accepted++
			if commit := s.job(key).Result; !there {
				s.t.Errorf("%s was accepted and is not at the origin: %s", branch, commit)
			}
		case api.AttemptOutcomeLost, api.AttemptOutcomeTimeout:
			if there {
				s.t.Errorf("%s was fenced and is at the origin", branch)
			}
		}
	}
	if accepted != 1 {
		s.t.Errorf("%s was accepted %d times", key, accepted)
	}
}

// judgeHouse looks at what is left on the hosts and in the database.
func (s *serverAndRepos) judgeHouse() {
	s.t.Helper()
	for _, name := range []string{"atlas", "basalt", "cinder"} {
		args := []string{"worker", "gc", "--repos", filepath.Join(s.dir, "repos"), "--name", name, "--state", s.state(name)}
		if out, err := s.run(fleetBinary, args...); err != nil {
			s.t.Errorf("gc of %s: %v\n%s", name, err, out)
		}
		if out, err := s.run(fleetBinary, append(args, "--dry-run")...); err != nil || !strings.Contains(out, "0 would be removed.") {
			s.t.Errorf("gc of %s again: %v\n%s", name, err, out)
		}
		if trees := s.worktrees(name); len(trees) > 0 {
			s.t.Errorf("these are left: %v", trees)
		}
	}
	for _, command := range []string{"audit", "verify-log"} {
		if out, err := s.run(serverBinary, command); err != nil {
			s.t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// run runs a program with the environment of the server.
func (s *serverAndRepos) run(path string, args ...string) (string, error) {
	cmd := exec.CommandContext(s.t.Context(), path, args...)
	cmd.Env = s.server.Env
	out, err := cmd.CombinedOutput()
	return string(out), err
}
