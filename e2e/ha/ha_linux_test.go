package ha

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// settleLimit is how long the last jobs may take.
const settleLimit = 5 * time.Minute

// Whatever is killed, of what was answered nothing is lost, doubled or adrift.
func TestWhateverIsKilledNothingThatWasAnsweredIsLost(t *testing.T) {
	seconds := envtest.Number(t, "FLEETBOARD_HA_SECONDS", 600)
	count := envtest.Number(t, "FLEETBOARD_HA_AGENTS", 1000)
	work := time.Duration(envtest.Number(t, "FLEETBOARD_HA_WORK", 200)) * time.Second
	seed := envtest.Number(t, "FLEETBOARD_HA_SEED", rand.Uint64N(1_000_000))
	perSecond := float64(count) / work.Seconds()
	t.Logf("FLEETBOARD_HA_SEED=%d, %d seconds, %d agents, a job takes %s: %.0f jobs a second", seed, seconds, count, work, perSecond)

	c, l := newCluster(t), newLedger()
	owner := c.token("owner-token")
	call, err := newCaller(c.api, l, func() string { return owner })
	if err != nil {
		t.Fatal(err)
	}
	p := person{call}
	if err := p.found(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.fill(t.Context(), int64(count))
	submitting, stopSubmitting := context.WithCancel(t.Context())
	stopAgents := c.startAgents(t.Context(), submitting, l, count, work)
	var submitted sync.WaitGroup
	submitted.Go(func() { p.submitFor(submitting, int64(count), perSecond) })
	kills := c.killFor(t.Context(), time.Duration(seconds)*time.Second, seed)
	stopSubmitting()
	submitted.Wait()
	c.settle(t.Context())
	stopAgents()

	conn, err := pgx.Connect(t.Context(), c.url("postgres", "fleetboard"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	l.judge(t.Context(), conn)
	t.Logf("%s\n%s", l.counts(), report(kills, l))
	for _, check := range []string{"audit", "verify-log"} {
		c.check(check)
	}
	if faults := l.verdict(); faults != "" {
		t.Errorf("%s\nagain with FLEETBOARD_HA_SEED=%d", faults, seed)
	}
}

// registering is how many agents register at once.
const registering = 16

// startAgents starts agents, and waits until most of them have a job. Once hurry has ended jobs
// take no time. stop lets the agents bring their jobs to an end and ends them.
func (c *cluster) startAgents(ctx, hurry context.Context, l *ledger, count int, work time.Duration) (stop func()) {
	c.t.Helper()
	enrolment := c.token("enrolment-token")
	working, stopWork := context.WithCancel(ctx)
	c.t.Cleanup(stopWork)
	agents := make([]*agent, count)
	var registered errgroup.Group
	registered.SetLimit(registering)
	for n := range agents {
		registered.Go(func() (err error) {
			if agents[n], err = newAgent(c, l, n, count, work, enrolment); err == nil && !agents[n].register(ctx, n) {
				err = errors.New("an agent was not registered")
			}
			return err
		})
	}
	if err := registered.Wait(); err != nil {
		c.t.Fatalf("%v\n%s", err, l.verdict())
	}
	var all sync.WaitGroup
	for _, a := range agents {
		all.Go(func() { a.run(ctx, working, hurry) })
	}
	busy := func() (n int) { l.note(func() { n = len(l.claims) }); return n }
	processtest.Until(c.t, startLimit, "most agents have a job", func() bool { return busy() > count*9/10 })
	return func() { stopWork(); all.Wait() }
}

// settle waits until every job has ended.
func (c *cluster) settle(ctx context.Context) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for open := -1; open != 0; {
		conn, err := pgx.Connect(ctx, c.url("postgres", "fleetboard"))
		if err == nil {
			err = conn.QueryRow(ctx, `SELECT count(*) FROM job WHERE status NOT IN ('completed', 'failed', 'aborted')`).Scan(&open)
			_ = conn.Close(ctx)
		}
		if open != 0 && callertest.Rest(ctx, time.Second) != nil {
			c.t.Errorf("%d jobs have not ended within %s (%v)", open, settleLimit, err)
			return
		}
	}
}

// check runs one of the server's own checks.
func (c *cluster) check(name string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), serverProgram, name)
	cmd.Env = c.servers[0].command().Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		_ = os.WriteFile(c.logOf(name), out, 0o600)
		c.t.Errorf("fleetboard %s: %v\n%.2000s", name, err, out)
		return
	}
	c.t.Logf("fleetboard %s:\n%s", name, out)
}

// spread is the middle, the 99th of a hundred and the longest of waits.
type spread []time.Duration

func (s spread) String() string {
	sorted := slices.Sorted(slices.Values(s))
	if len(sorted) == 0 {
		return "none"
	}
	at := func(share float64) float64 {
		return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)].Seconds()
	}
	return fmt.Sprintf("p50 %.2f s, p99 %.2f s, max %.2f s", at(0.5), at(0.99), at(1))
}
