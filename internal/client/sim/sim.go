// Package sim drives fake factories against a server: agents that claim, report and hand
// in without doing anything, and that die, fall silent and dawdle as often as they are
// told to. It shows how a board looks with many hosts, and how the server bears them.
package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Options say how many there are and what befalls them.
type Options struct {
	// Server is asked, Enrolment registers the agents.
	Server, Enrolment string
	// Factories is how many hosts there are, Agents how many agents work in all.
	Factories, Agents int
	// Repos are those that the hosts offer, each host all of them.
	Repos []string
	// Work is how long a job takes, on the average.
	Work time.Duration
	// Kill, Partition, Slow, Fail and Ask are shares of the jobs, from 0 to 1: at which the
	// agent dies and comes back as a new boot; hears and says nothing until its lease is
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
	return fmt.Sprintf(
		"claimed %d, completed %d, failed %d, asked %d, killed %d, silent %d, refused %d, errors %d",
		c.Claimed.Load(),
		c.Completed.Load(),
		c.Failed.Load(),
		c.Asked.Load(),
		c.Killed.Load(),
		c.Silent.Load(),
		c.Refused.Load(),
		c.Faults.Load(),
	)
}

// lease is how long a job stays an agent's that the server does not hear; a partition
// lasts longer.
const lease = 30 * time.Second

// Run drives the agents until ctx ends. counts goes up meanwhile.
func Run(ctx context.Context, o Options, counts *Counts) error {
	if o.Factories < 1 || o.Agents < o.Factories {
		return errors.New("there must be a factory at least, and an agent in each")
	}
	var all sync.WaitGroup
	for i := range o.Agents {
		a := &agent{Options: o, counts: counts, name: fmt.Sprintf("sim-%03d", i+1), factory: fmt.Sprintf("sim-host-%02d", i%o.Factories+1),
			seats: (o.Agents + o.Factories - 1) / o.Factories, draw: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
		all.Go(func() { a.live(ctx) })
	}
	all.Wait()
	return nil
}

// agent is one of them.
type agent struct {
	Options
	counts        *Counts
	name, factory string
	seats         int
	draw          *rand.Rand
	api           *api.Client
	silent        atomic.Bool
	held          atomic.Pointer[api.ProgressReport] // the lease on the job at work
}

// errKilled ends a boot of an agent.
var errKilled = errors.New("it was killed")

// live is one boot after another, until ctx ends.
func (a *agent) live(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.boot(ctx)
		if err != nil && !errors.Is(err, errKilled) && ctx.Err() == nil {
			a.counts.Faults.Add(1)
			a.Log.Warn("an agent begins anew: "+err.Error(), "agent", a.name)
		}
		_ = signal.Sleep(ctx, signal.Jitter(2*time.Second, 0.9)) // the loop looks at ctx
	}
}

// boot registers and works until the agent is killed.
func (a *agent) boot(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	enrol, err := client.New(a.Server, a.Enrolment, api.Options{Retries: 3, LongestPause: time.Second})
	if err != nil {
		return err
	}
	if a.api, err = client.New(a.Server, "", api.Options{Retries: 3, LongestPause: time.Second}); err != nil {
		return err
	}
	id, linux, engines := fmt.Sprintf("%016x%016x", a.draw.Uint64(), rand.Uint64()), "linux", []string{"claude"}
	repos := make([]api.Repo, 0, len(a.Repos))
	for _, name := range a.Repos {
		repos = append(repos, api.Repo{Name: name})
	}
	answer, err := enrol.RegisterAgentWithResponse(ctx, a.name, api.Registration{BootID: id,
		Factory: api.FactoryInfo{Name: a.factory, OS: &linux, Engines: &engines, Repos: &repos, Seats: &a.seats}})
	if err != nil {
		return err
	}
	a.api.SetToken(answer.JSON200.Token)
	a.silent.Store(false)
	var beating sync.WaitGroup
	defer beating.Wait()
	defer cancel()
	beating.Go(func() { a.beat(ctx, id) })
	return a.work(ctx)
}

// beat sends heartbeats, but while the agent is silent.
func (a *agent) beat(ctx context.Context, id string) {
	for signal.Sleep(ctx, signal.Jitter(8*time.Second, 0.2)) == nil {
		if a.silent.Load() {
			continue
		}
		var held []api.ProgressReport
		if lease := a.held.Load(); lease != nil {
			held = append(held, *lease)
		}
		answer, err := a.api.HeartbeatWithResponse(ctx, a.name,
			api.Heartbeat{BootID: id, Status: api.HeartbeatStatusWorking, Leases: &held})
		if err == nil && answer.JSON200 != nil && answer.JSON200.Token != nil {
			a.api.SetToken(*answer.JSON200.Token)
		}
	}
}

// work claims one job after another.
func (a *agent) work(ctx context.Context) error {
	for ctx.Err() == nil {
		wait, ttl, id := 20, int(lease.Seconds()), fmt.Sprintf("%016x", a.draw.Uint64())
		answer, err := a.api.ClaimJobsWithResponse(ctx, api.ClaimRequest{WaitSeconds: &wait, TTLSeconds: &ttl, RequestID: &id})
		if err != nil {
			return err
		}
		if answer.JSON200 == nil {
			continue
		}
		for _, j := range answer.JSON200.Jobs {
			a.counts.Claimed.Add(1)
			if err := a.job(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// job works on a job, or does what befalls the agent instead.
func (a *agent) job(ctx context.Context, j api.Job) error {
	a.held.Store(&api.ProgressReport{Job: j.Key, Epoch: j.Lease.Epoch})
	defer a.held.Store(nil)
	pace, fate := a.Work, a.draw.Float64()
	switch {
	case fate < a.Kill:
		a.counts.Killed.Add(1)
		return errKilled
	case fate < a.Kill+a.Partition:
		a.counts.Silent.Add(1)
		a.silent.Store(true)
		defer a.silent.Store(false)
		if err := signal.Sleep(ctx, lease+5*time.Second); err != nil {
			return nil
		}
	case fate < a.Kill+a.Partition+a.Slow:
		pace *= 10
	}
	for step := range steps {
		if signal.Sleep(ctx, time.Duration(a.draw.ExpFloat64()*float64(pace)/float64(len(steps)))) != nil {
			return nil
		}
		if over, err := a.report(ctx, j, step); over || err != nil {
			return err
		}
	}
	return a.end(ctx, j)
}

// steps are what an agent says that it does.
var steps = []string{"reads the code", "writes a test that fails", "mends it", "runs all tests"}

// report says that a step has begun, and what the model was used for. It reports whether
// the job is over for the agent.
func (a *agent) report(ctx context.Context, j api.Job, step int) (over bool, err error) {
	percent, read := 100*step/len(steps), int64(20_000+a.draw.IntN(60_000))
	usage := api.UsageEntries{
		{ID: fmt.Sprintf("sim-%s-%d-%d", j.ID, j.Lease.Epoch, step), Provider: "anthropic", Model: "claude-sonnet-4-5", At: time.Now(),
			InputTokens: int64(500 + a.draw.IntN(2000)), OutputTokens: int64(200 + a.draw.IntN(1500)), CacheReadTokens: &read},
	}
	answer, err := a.api.ReportProgressWithResponse(
		ctx,
		api.ProgressReport{Job: j.Key, Epoch: j.Lease.Epoch, ProgressPercent: &percent,
			CurrentStep: &steps[step], Usage: &usage},
	)
	if err != nil {
		return true, a.unlessRefused(err)
	}
	switch answer.JSON200.Directive {
	case api.DirectiveCancel, api.DirectivePause:
		_, err := a.api.ReleaseLeaseWithResponse(ctx, api.LeaseRelease{Job: j.Key, Epoch: j.Lease.Epoch, Reason: "Stopped as asked."})
		return true, a.unlessRefused(err)
	case api.DirectiveFenced:
		return true, nil
	}
	return false, nil
}

// end hands the job in, fails it, or asks a person.
func (a *agent) end(ctx context.Context, j api.Job) error {
	var err error
	did := &a.counts.Completed
	switch fate := a.draw.Float64(); {
	case fate < a.Fail:
		kind, again := "checks_failed", true
		_, err = a.api.FailJobWithResponse(
			ctx,
			api.Failure{Job: j.Key, Epoch: j.Lease.Epoch, Kind: &kind, Retryable: &again, Error: "2 of 214 tests fail."},
		)
		did = &a.counts.Failed
	case fate < a.Fail+a.Ask && j.Answer == "":
		_, err = a.api.AskQuestionWithResponse(
			ctx,
			api.Question{Job: j.Key, Epoch: j.Lease.Epoch, Question: "May I change the public interface for this?"},
		)
		did = &a.counts.Asked
	default:
		summary := "Done, with a test."
		_, err = a.api.CompleteJobWithResponse(ctx, api.Completion{Job: j.Key, Epoch: j.Lease.Epoch, Summary: &summary})
	}
	if err == nil {
		did.Add(1)
	}
	return a.unlessRefused(err)
}

// unlessRefused drops refusals: somebody else decided about the job, and the agent goes on.
func (a *agent) unlessRefused(err error) error {
	var p *api.Error
	if errors.As(err, &p) && p.Status == 409 {
		a.counts.Refused.Add(1)
		return nil
	}
	return err
}
