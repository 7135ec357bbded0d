package factory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// pool makes one for the repository of the test.
func (s *serverAndRepos) pool(most, coolDown int) {
	s.t.Helper()
	_, err := s.person.PutPoolWithResponse(s.t.Context(), "local", api.PoolTemplate{Max: most, CoolDownSeconds: &coolDown,
		Offers: api.PoolOffers{Repos: &[]string{"ledger"}}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// scaler prepares one that starts workers for the pool.
func (s *serverAndRepos) scaler() *processtest.Process {
	s.t.Helper()
	command := fmt.Sprintf("local=%s worker --repos %s --engine scripted --lease 10s --heartbeat 1s", fleetBinary, filepath.Join(s.dir, "repos"))
	p := s.program(fleetBinary, "scaler", "--pool", command, "--state", filepath.Join(s.dir, "scaler"), "--host", "desk", "--every", "300ms",
		"--patience", "5s")
	p.Env = append(p.Env, "FLEETBOARD_TOKEN="+s.token("owner-token"), "XDG_STATE_HOME="+filepath.Join(s.dir, "state"))
	s.t.Cleanup(func() {
		for _, pid := range s.workers() {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	})
	return p
}

// workers returns the process ids of the workers that live.
func (s *serverAndRepos) workers() (all []int) {
	found, _ := filepath.Glob(filepath.Join(s.dir, "scaler", "local", "*", "pid"))
	for _, path := range found {
		var pid int
		text, _ := os.ReadFile(path)
		if n, _ := fmt.Sscan(string(text), &pid); n == 1 && syscall.Kill(pid, 0) == nil {
			all = append(all, pid)
		}
	}
	return all
}

func (s *serverAndRepos) demand() api.PoolDemand {
	s.t.Helper()
	answer, err := s.person.GetPoolDemandWithResponse(s.t.Context(), "local")
	if err != nil {
		s.t.Fatal(err)
	}
	return *answer.JSON200
}

// From zero: no worker while nothing is to be done, one within seconds of a job, none afterwards;
// a pool at its maximum says so on the job that waits. FLEETBOARD_IDLE is how long nothing is
// to be done first.
func TestAPoolFromZeroToOneAndBack(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.pool(1, 1)
	s.scaler().Start()
	idle := 3 * time.Second
	if d, err := time.ParseDuration(os.Getenv("FLEETBOARD_IDLE")); err == nil {
		idle = d
	}
	if processtest.Soon(idle, func() bool { return len(s.workers()) > 0 }) {
		t.Fatal("a worker lives without a job")
	}
	for round := range 2 {
		began := time.Now()
		key := s.submit(step{"run": "sleep 3; echo hello > greeting.txt"})
		s.until("it is claimed", func() bool { st := s.job(key).Status; return st != api.JobStatusReady && st != api.JobStatusWaiting })
		t.Logf("round %d: the first claim came %v after the job, %+v", round+1, time.Since(began).Round(10*time.Millisecond), s.demand())
		second := s.submit(step{"run": "echo more > greeting.txt"})
		if why := s.why(second)["pool_at_maximum"]; !strings.Contains(why, "has all its 1 factory") {
			t.Errorf("the second job is explained by %v", s.why(second))
		}
		s.untilStatus(key, api.JobStatusCompleted)
		s.untilStatus(second, api.JobStatusCompleted)
		s.until("all workers have ended", func() bool { return len(s.workers()) == 0 && s.demand().Factories == 0 })
	}
	p, err := s.person.GetPoolWithResponse(t.Context(), "local")
	if err != nil || p.JSON200.ColdStartSeconds == nil {
		t.Errorf("no cold start was measured: %s, %v", p.Body, err)
	}
	h, err := s.person.GetPoolHistoryWithResponse(t.Context(), "local")
	if err != nil || len(h.JSON200.Starts) != 2 || h.JSON200.Starts[0].Failed || h.JSON200.Starts[0].DrainedAt == nil {
		t.Errorf("the history is %s, %v", h.Body, err)
	}
}

// A scaler that was killed leaves its workers to the next one, which starts none twice; a worker
// that was killed is replaced, and its job goes on with the replacement.
func TestAScalerAndItsWorkersAreKilled(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.pool(3, 1)
	scaler := s.scaler()
	scaler.Start()
	long := s.submit(step{"run": "while [ ! -e " + filepath.Join(s.dir, "go") + " ]; do sleep 0.1; done; echo hello > greeting.txt"})
	s.untilStatus(long, api.JobStatusRunning)
	before := s.workers()
	if len(before) != 1 {
		t.Fatalf("the workers are %v", before)
	}
	scaler.Kill()
	second := s.submit(step{"run": "echo more > greeting.txt"})
	scaler.Start()
	s.untilStatus(second, api.JobStatusCompleted)
	h, err := s.person.GetPoolHistoryWithResponse(t.Context(), "local")
	if err != nil || len(h.JSON200.Starts) != 2 {
		t.Errorf("two jobs brought the starts %s, %v", h.Body, err)
	}

	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("a replacement works on the job", func() bool { j := s.job(long); return j.Status == api.JobStatusRunning && j.Lease.Epoch > 1 })
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.untilStatus(long, api.JobStatusCompleted)
	s.until("all workers have ended", func() bool { return len(s.workers()) == 0 })
	s.until("nothing is left of them", func() bool {
		left, _ := filepath.Glob(filepath.Join(s.dir, "scaler", "local", "*"))
		return len(left) == 0
	})
}
