package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/nstest"
	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
)

// volume is one data directory with the embedded database, for several containers.
type volume struct {
	t   *testing.T
	dir string
	// webs are the containers; two at most run at once.
	webs []*web
	net  *callertest.Network

	mu       sync.Mutex
	answered []submitted
	last     time.Time
	silence  time.Duration // the longest time without an answered write
}

func newVolume(ctx context.Context, t *testing.T) *volume {
	t.Helper()
	probe := exec.CommandContext(ctx, "/bin/true")
	nstest.Contain(probe)
	if err := probe.Run(); err != nil {
		t.Fatalf("%s: %v", nstest.Needs, err)
	}
	v := &volume{t: t, dir: keptDir(t)}
	v.webs = newWebs(t, 3, "", v.dir)
	var urls []string
	for _, w := range v.webs {
		w.prepare = func(cmd *exec.Cmd) { nstest.Contain(cmd) }
		urls = append(urls, w.url())
	}
	v.launch(ctx, 0)
	owner := token(t, v.dir, "owner-token")
	odd := func(status int, body []byte) { t.Errorf("a server answered %d: %s", status, body) }
	var err error
	if v.net, err = callertest.New(urls, func() string { return owner }, odd); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v *volume) launch(ctx context.Context, i int) {
	v.t.Helper()
	if err := v.webs[i].launch(ctx); err != nil {
		v.t.Fatal(err)
	}
}

func (v *volume) end(i int, how syscall.Signal) {
	v.t.Helper()
	if err := v.webs[i].proc.End(how); err != nil {
		v.t.Error(err)
	}
}

// write submits jobs until ctx ends and remembers each answer. What was not
// answered may be there or not; it is not repeated.
func (v *volume) write(ctx context.Context, writer int) {
	for n := 1; ctx.Err() == nil; n++ {
		title := fmt.Sprintf("writer %d, job %d", writer, n)
		answer, err := callertest.Once(ctx, v.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CreateJobResponse, error) {
			return c.CreateJobWithResponse(ctx, &api.CreateJobParams{}, api.NewJob{Title: title})
		})
		switch {
		case err != nil:
			_ = callertest.Rest(ctx, 20*time.Millisecond)
		case answer.JSON201 == nil:
			v.t.Errorf("a submission was answered %d: %s", answer.StatusCode(), answer.Body)
		default:
			v.note(submitted{key: answer.JSON201.Key, title: title})
		}
	}
}

func (v *volume) note(s submitted) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answered = append(v.answered, s)
	if now := time.Now(); v.last.IsZero() {
		v.last = now
	} else {
		v.silence, v.last = max(v.silence, now.Sub(v.last)), now
	}
}

func (v *volume) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.answered)
}

// goesOn waits until some more writes were answered.
func (v *volume) goesOn(ctx context.Context) {
	v.t.Helper()
	const some = 20
	for enough := v.count() + some; v.count() < enough; {
		if err := callertest.Rest(ctx, 10*time.Millisecond); err != nil {
			v.t.Fatalf("writes are no longer answered, see the logs in %s: %v", v.dir, err)
		}
	}
}

// judge checks whether each job that was answered is there, under its key alone.
func (v *volume) judge(ctx context.Context) {
	v.t.Helper()
	server, err := db.StartEmbedded(ctx, filepath.Join(v.dir, "data"), slog.New(slog.DiscardHandler))
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(context.WithoutCancel(ctx)); err != nil {
			v.t.Error(err)
		}
	}()
	conn, err := pgx.Connect(ctx, server.URL())
	if err != nil {
		v.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	jobs, err := readRecords(ctx, conn)
	if err != nil {
		v.t.Fatal(err)
	}
	lost, twice, given := 0, 0, map[string]bool{}
	for _, s := range v.answered {
		if given[s.key] {
			twice++
		}
		given[s.key] = true
		if r, ok := jobs[s.key]; !ok || r.Title != s.title {
			lost++
		}
	}
	v.t.Logf("%d answered writes, %d lost, %d keys given twice; the longest silence was %s", len(v.answered), lost, twice, v.silence.Round(time.Millisecond))
	if lost+twice > 0 {
		v.t.Errorf("%d answered writes are lost, %d keys were given twice", lost, twice)
	}
	for _, check := range []string{"audit", "verify-log"} {
		cmd := exec.CommandContext(ctx, serverBinary, check)
		cmd.Env = v.webs[0].env
		if out, err := cmd.CombinedOutput(); err != nil {
			v.t.Errorf("web %s: %v\n%s", check, err, out)
		}
	}
}

// Containers with one volume: rolling updates that overlap, and both killed.
// FLEETBOARD_VOLUME_ROUNDS is how often each.
func TestContainersOnOneVolume(t *testing.T) {
	rounds := envtest.Number(t, "FLEETBOARD_VOLUME_ROUNDS", 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(2+2*rounds)*time.Minute)
	defer cancel()
	v := newVolume(ctx, t)
	writing, stopWriting := context.WithCancel(ctx)
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stopWriting()
	for n := range 4 {
		writers.Go(func() { v.write(writing, n) })
	}
	now := 0
	for range rounds { // rolling updates
		next := (now + 1) % len(v.webs)
		v.launch(ctx, next)
		v.goesOn(ctx)
		v.end(now, syscall.SIGTERM)
		v.goesOn(ctx)
		now = next
	}
	for round := range rounds { // both killed, the one with the database first or last
		other := (now + 1) % len(v.webs)
		v.launch(ctx, other)
		v.goesOn(ctx)
		first, second := now, other
		if round%2 == 1 {
			first, second = other, now
		}
		v.end(first, syscall.SIGKILL)
		v.end(second, syscall.SIGKILL)
		v.launch(ctx, now)
		v.goesOn(ctx)
	}
	stopWriting()
	writers.Wait()
	v.judge(ctx)
	v.end(now, syscall.SIGTERM)
}
