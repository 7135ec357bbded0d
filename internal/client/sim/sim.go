// Package sim drives fake factories against a server: agents that claim, report and hand
// in without doing anything, and that die, fall silent and dawdle as often as they are
// set to. It shows how a board looks with many hosts, and how the server bears them.
package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/api/agent"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Options say how many there are and what befalls them.
type Options struct {
	// Server gets the calls, Enrolment registers the agents.
	Server, Enrolment string
	// Factories is how many hosts there are, Agents how many agents work in all.
	Factories, Agents int
	// Repos are those that the hosts offer, each host all of them.
	Repos []string
	// Work is how long a job takes, on the average.
	Work time.Duration
	// Kill, Partition, Slow, Fail and Ask are shares of the jobs, from 0 to 1: at which the
	// agent dies and comes back as a new boot; receives and says nothing until its lease is
	// over; takes ten times as long; fails; asks a person.
	Kill, Partition, Slow, Fail, Ask float64
	// Seed makes two runs draw the same.
	Seed uint64
	Log  *slog.Logger
}

// Counts are what has happened so far.
type Counts struct{ Claimed, Completed, Failed, Asked, Killed, Silent, Refused, Faults atomic.Int64 }

// String says it in a line.
func (c *Counts) String() string {
	return fmt.Sprintf("claimed %d, completed %d, failed %d, asked %d, killed %d, silent %d, refused %d, errors %d",
		c.Claimed.Load(), c.Completed.Load(), c.Failed.Load(), c.Asked.Load(), c.Killed.Load(), c.Silent.Load(), c.Refused.Load(),
		c.Faults.Load())
}

// lease is how long a job stays an agent's that sends nothing; a partition
// lasts longer.
const lease = 30 * time.Second

// Run drives the agents until ctx ends. counts goes up meanwhile.
func Run(ctx context.Context, o Options, counts *Counts) error {
	if o.Factories < 1 || o.Agents < o.Factories {
		return errors.New("there must be a factory at least, and an agent in each")
	}
	var all sync.WaitGroup
	for i := range o.Agents {
		a := &simulated{Options: o, counts: counts, name: fmt.Sprintf("sim-%03d", i+1),
			factory: fmt.Sprintf("sim-host-%02d", i%o.Factories+1),
			seats:   (o.Agents + o.Factories - 1) / o.Factories, draw: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
		all.Go(func() { a.live(ctx) })
	}
	all.Wait()
	return nil
}

// simulated is one of the agents.
type simulated struct {
	Options
	counts        *Counts
	name, factory string
	seats         int
	draw          *rand.Rand
}

// errKilled ends a boot of an agent.
var errKilled = errors.New("it was killed")

// live runs one boot after another, until ctx ends.
func (a *simulated) live(ctx context.Context) {
	for ctx.Err() == nil {
		if err := a.boot(ctx); err != nil && ctx.Err() == nil {
			a.counts.Faults.Add(1)
			a.Log.Warn("an agent begins anew: "+err.Error(), "agent", a.name)
		}
		_ = signal.Sleep(ctx, signal.Jitter(2*time.Second, 0.9)) // the loop looks at ctx
	}
}

// boot works until the agent is killed. One that was killed is left to itself, and its calls
// arrive nowhere.
func (a *simulated) boot(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	net, killed, over := &network{counts: a.counts}, make(chan struct{}), make(chan error, 1)
	o := agent.Options{Server: a.Server, Enrolment: a.Enrolment, Name: a.name, Program: "fleet/" + client.Version, Transport: net,
		Lease: lease, Reported: a.count, Registration: api.Registration{Factory: api.FactoryInfo{Name: a.factory, OS: new("linux"),
			Engines: &[]string{"claude"}, Repos: &[]api.Repo{}, Seats: &a.seats}}}
	for _, name := range a.Repos {
		*o.Registration.Factory.Repos = append(*o.Registration.Factory.Repos, api.Repo{Name: name})
	}
	go func() {
		over <- agent.Run(ctx, o, func(working context.Context, j *agent.Job) (agent.Result, error) {
			result, err := a.job(ctx, working, j, net)
			if errors.Is(err, errKilled) {
				close(killed)
				<-working.Done()
			}
			return result, err
		})
	}()
	select {
	case err := <-over:
		return err
	case <-killed:
		net.down.Store(true)
		return nil
	}
}

// network is an agent's way to the server; while it is down nothing arrives.
type network struct {
	counts *Counts
	down   atomic.Bool
}

// RoundTrip makes a request, and counts what the server or the way to it fails at.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.down.Load() {
		return nil, errors.New("the network is down")
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil && r.Context().Err() == nil || err == nil && answer.StatusCode >= http.StatusInternalServerError {
		n.counts.Faults.Add(1)
	}
	return answer, err
}

// job works on a job until working ends, or does what befalls the agent instead.
func (a *simulated) job(boot, working context.Context, j *agent.Job, net *network) (agent.Result, error) {
	a.counts.Claimed.Add(1)
	pace, fate := a.Work, a.draw.Float64()
	switch {
	case fate < a.Kill:
		a.counts.Killed.Add(1)
		return agent.Result{}, errKilled
	case fate < a.Kill+a.Partition:
		a.counts.Silent.Add(1)
		net.down.Store(true)
		defer net.down.Store(false)
		if err := signal.Sleep(boot, lease+5*time.Second); err != nil {
			return agent.Result{}, err
		}
	case fate < a.Kill+a.Partition+a.Slow:
		pace *= 10
	}
	for step := range steps {
		if err := signal.Sleep(working, time.Duration(a.draw.ExpFloat64()*float64(pace)/float64(len(steps)))); err != nil {
			return agent.Result{}, err
		}
		if err := a.report(j, step); errors.Is(err, agent.ErrFenced) {
			a.counts.Refused.Add(1)
			return agent.Result{}, err
		}
	}
	switch fate := a.draw.Float64(); {
	case fate < a.Fail:
		return agent.Result{}, agent.Fail(api.Failure{Kind: new("checks_failed"), Retryable: new(true), Error: "2 of 214 tests fail."})
	case fate < a.Fail+a.Ask && j.Answer == "":
		return agent.Result{}, agent.Ask("May I change the public interface for this?")
	}
	return agent.Result{Summary: new("Done, with a test.")}, nil
}

// steps are what an agent says that it does.
var steps = []string{"reads the code", "writes a test that fails", "mends it", "runs all tests"}

// report says that a step has begun, and what the model was used for.
func (a *simulated) report(j *agent.Job, step int) error {
	return j.Progress(api.ProgressReport{ProgressPercent: new(100 * step / len(steps)), CurrentStep: &steps[step],
		Usage: &api.UsageEntries{{ID: fmt.Sprintf("sim-%s-%d-%d", j.ID, j.Lease.Epoch, step), Provider: "anthropic",
			Model: "claude-sonnet-4-5", At: time.Now(), InputTokens: int64(500 + a.draw.IntN(2000)),
			OutputTokens: int64(200 + a.draw.IntN(1500)), CacheReadTokens: new(int64(20_000 + a.draw.IntN(60_000)))}}})
}

// count counts what the server took or refused.
func (a *simulated) count(r agent.Report, err error) {
	switch {
	case err != nil:
		a.counts.Refused.Add(1)
	case r.Complete != nil:
		a.counts.Completed.Add(1)
	case r.Fail != nil:
		a.counts.Failed.Add(1)
	case r.Ask != nil:
		a.counts.Asked.Add(1)
	}
}
