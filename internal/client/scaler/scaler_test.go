package scaler

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// server grants every start, and remembers what it was told.
type server struct {
	demand api.PoolDemand
	told   []string
}

func (s *server) Pool(context.Context, string) (api.Pool, error)         { return api.Pool{}, nil }
func (s *server) Demand(context.Context, string) (api.PoolDemand, error) { return s.demand, nil }
func (s *server) Scale(_ context.Context, _ string, step api.ScalingStep, factory, detail string) error {
	s.told = append(s.told, strings.TrimSpace(factory+" "+string(step)+" "+detail))
	return nil
}
func (s *server) Taken(context.Context, string) (int, bool, error) { return 1, true, nil }
func (s *server) Drain(context.Context, string, bool) error        { return nil }

func newGroup(t *testing.T, s Server, workers ...*worker) *group {
	t.Helper()
	dir := t.TempDir()
	g := &group{Options: Options{Server: s, Host: "desk", Most: 9, Log: slog.New(slog.DiscardHandler)}, pool: "linux", command: "sleep 60",
		dir: dir, workers: workers}
	for i, w := range workers {
		w.slot, w.dir = i+1, filepath.Join(dir, strconv.Itoa(i+1))
		w.Factory = g.factoryName(w.slot)
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// A pool at its maximum has no room for another worker, but one that drains goes on.
func TestADrainingWorkerGoesOnAtTheMaximum(t *testing.T) {
	s := &server{demand: api.PoolDemand{Value: 2, Factories: 1, Draining: 1, AtMaximum: true}}
	g := newGroup(t, s, &worker{Phase: running}, &worker{Phase: draining})
	if err := g.grow(t.Context(), time.Now(), s.demand); err != nil {
		t.Fatal(err)
	}
	if g.count(running) != 2 || !slices.Equal(s.told, []string{"linux-desk-2 undrained"}) {
		t.Errorf("%d run, and the server was told %v", g.count(running), s.told)
	}
	s.demand.Value, s.demand.Factories, s.demand.Draining = 2, 2, 1
	g.workers[0].Phase = draining
	if err := g.grow(t.Context(), time.Now(), s.demand); err != nil || g.count(draining) != 1 {
		t.Errorf("one that nobody needs goes on, %v", err)
	}
}

// What is said of an end is true: a worker of an earlier scaler that this one has seen alive did not
// end while none was there.
func TestWhyAnAdoptedWorkerEnded(t *testing.T) {
	for _, seen := range []bool{true, false} {
		s := &server{}
		g := newGroup(t, s, &worker{Phase: running, StartedAt: time.Now().Add(-time.Hour)})
		w := g.workers[0]
		process := exec.CommandContext(t.Context(), "/bin/sh", "-c", `echo "`+identify+`" >pid && read -r line`)
		process.Dir = w.dir
		end, err := process.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		for written := false; !written; _, written = readProcess(w.dir) {
		}
		if seen {
			if err := g.observe(t.Context(), time.Now()); err != nil || len(s.told) != 0 {
				t.Fatalf("while it lives the server is told %v, %v", s.told, err)
			}
		}
		_ = end.Close()
		_ = process.Wait()
		want := map[bool]string{true: "Its process ended.", false: "It ended while no scaler was there."}[seen]
		if err := g.observe(t.Context(), time.Now()); err != nil || !slices.Equal(s.told, []string{"linux-desk-1 failed " + want}) {
			t.Errorf("seen alive (%t) the server is told %v, %v", seen, s.told, err)
		}
	}
}

// A worker that ended as it was told to begins the count of broken ones anew.
func TestARestIsAfterBrokenWorkersInARow(t *testing.T) {
	now := time.Now()
	g := newGroup(t, &server{})
	for range 5 {
		g.rest(now, true)
	}
	if g.restUntil.Sub(now) != 32*time.Second {
		t.Errorf("after five in a row it rests %v", g.restUntil.Sub(now))
	}
	g.workers = newGroup(t, &server{}, &worker{Phase: stopping, StartedAt: now, gone: true}).workers
	if err := g.observe(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if g.rest(now, true); g.restUntil.Sub(now) != 2*time.Second {
		t.Errorf("after an end in between it rests %v", g.restUntil.Sub(now))
	}
}

// Names of factories are short enough, and tell pools and hosts apart.
func TestFactoryNames(t *testing.T) {
	long := strings.Repeat("p", 62)
	seen := map[string]bool{}
	for _, pool := range []string{"linux", "a@b_c.d", long + "-1", long + "-2"} {
		for _, host := range []string{"desk", "büro.example", strings.Repeat("h", 70)} {
			for _, slot := range []int{1, 12} {
				g := &group{Options: Options{Host: host}, pool: pool}
				name := g.factoryName(slot)
				if len(name) > 64 || seen[name] || name != g.factoryName(slot) {
					t.Errorf("%s on %s is %s", pool, host, name)
				}
				seen[name] = true
			}
		}
	}
}

// A pool may have any name that the server takes.
func TestAPoolThatIsCalledLock(t *testing.T) {
	s, state := &server{}, t.TempDir()
	s.demand = api.PoolDemand{Value: 1, Start: 1}
	ctx, stop := context.WithCancel(t.Context())
	stop() // after one look
	err := Run(ctx, Options{Server: s, Commands: map[string]string{"lock": "true"}, State: state, Host: "desk", Every: time.Hour, Most: 1,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil || !slices.Equal(s.told, []string{"lock-desk-1 starting"}) {
		t.Fatalf("the server is told %v, %v", s.told, err)
	}
	for written := false; !written; _, written = readProcess(filepath.Join(state, "lock", "1")) {
	}
}
