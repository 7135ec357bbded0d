package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

const (
	defaultLease = 5 * time.Minute
	// longestWait is how long a claim waits for a job.
	longestWait = 25 * time.Second
	// claimTries is how often a claim is sent that gets no answer.
	claimTries = 5
	// reportTimeout is how long reports are tried once the agent is to end.
	reportTimeout = 10 * time.Second
)

// Work does a job. The error decides how the job ends:
//   - nil hands the result in
//   - Ask, Release and Fail make errors that park the job with a question, give it back, and fail it
//   - any other error, and a panic, fails this attempt; the job is tried again
//
// ctx ends when the work is to stop, and context.Cause says why: ErrFenced, ErrUnheard, ErrPaused,
// ErrCancelled or ErrStopping. Return soon then. A job that was paused, cancelled or stopped is given
// back with the checkpoint that Job.Progress reported last, unless Work returns nil or one of the
// errors above. Nothing is reported of one that somebody else has.
type Work func(ctx context.Context, job *Job) (Result, error)

// Result is what is handed in; Run fills in the job and the epoch.
type Result = api.Completion

// Why the work on a job is to stop.
var (
	ErrFenced    = errors.New("the lease is not this agent's any more")
	ErrUnheard   = errors.New("the server was not heard for as long as the lease lasts")
	ErrPaused    = errors.New("the job is to be paused")
	ErrCancelled = errors.New("the job is to be cancelled")
	ErrStopping  = errors.New("the agent ends")
)

// Options are what an agent is started with.
type Options struct {
	// Server is the address, such as "http://127.0.0.1:8080"; Enrolment is the token to register with.
	Server, Enrolment string
	// Name is the agent's; no other agent of the workspace has it.
	Name string
	// Registration describes the agent; Run sets its boot id and how many jobs it takes.
	Registration api.Registration
	// Seats is how many jobs it works on at once; 0 is one.
	Seats int
	// Lease is how long a job stays the agent's without a heartbeat, 10 seconds to a day; 0 is five
	// minutes.
	Lease time.Duration
	// Outbox keeps reports on disk until the server has taken them; nil keeps them in memory.
	Outbox Outbox
	// Reported is called when the server has taken a report, or has refused it for good (err).
	Reported func(r Report, err error)
	// Program is the caller's name and version, such as "my-agent/1.4.0"; "" says neither.
	Program string
	// Transport makes the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Log logs failures that are tried again; nil logs nothing.
	Log *slog.Logger
}

// agent is a running loop.
type agent struct {
	Options
	work   Work
	bootID string

	api      *api.Client // for the work
	beatAPI  *api.Client // for heartbeats, which wait for no other call
	enrolAPI *api.Client // for registering

	beatNow chan struct{} // from removeLease to the heartbeats
	freed   chan struct{} // from removeLease to claimLoop
	jobs    sync.WaitGroup

	mu       sync.Mutex // guards held and claiming
	held     map[leaseID]*Job
	claiming bool // a claim is under way, which may bring leases
}

type leaseID struct {
	job   string
	epoch int64
}

// Run works until ctx ends, which stops the work on the jobs that are held (ErrStopping), and returns
// when they are reported, nil. It returns an error where the agent cannot begin, or cannot go on:
// its token was revoked, another boot took its name, its program is too old.
func Run(ctx context.Context, o Options, work Work) error {
	a, pending, err := newAgent(o, work)
	if err != nil {
		return err
	}
	// ctx ends the claiming; workCtx ends once all work is reported, at the latest reportTimeout
	// after ctx.
	workCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer end()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(reportTimeout, end) })
	defer stop()
	err = a.registerUntilTaken(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range pending {
		a.deliver(workCtx, r)
	}
	loops.Go(func() { a.heartbeats(workCtx) })
	loops.Go(func() { a.watchLeases(workCtx) })
	err = a.claimLoop(ctx, workCtx)
	for _, j := range a.heldJobs() {
		j.stop(ErrStopping)
	}
	a.jobs.Wait()
	if err != nil {
		return err
	}
	if _, err := a.beatAPI.EndAgentWithResponse(workCtx, a.Name); err != nil {
		a.Log.Warn("the server does not know that the agent has ended: " + err.Error())
	}
	return nil
}

// newAgent returns the agent, and the reports that an earlier process left in the outbox.
func newAgent(o Options, work Work) (a *agent, pending []Report, err error) {
	o.Lease = cmp.Or(o.Lease, defaultLease)
	o.Seats = cmp.Or(o.Seats, 1)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a = &agent{Options: o, work: work, bootID: rand.Text(), held: map[leaseID]*Job{},
		beatNow: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
	if o.Outbox != nil {
		if pending, err = o.Outbox.Pending(); err != nil {
			return nil, nil, err
		}
		if len(pending) > 0 {
			a.bootID = pending[0].Boot // another boot would end the leases that these are about
		}
	}
	retrying := api.Options{Program: o.Program, Transport: o.Transport, Retries: 3, LongestPause: 2 * time.Second}
	oneTry := api.Options{Program: o.Program, Transport: o.Transport}
	var errs [3]error
	a.api, errs[0] = api.New(o.Server, "", retrying)
	a.beatAPI, errs[1] = api.New(o.Server, "", oneTry)
	a.enrolAPI, errs[2] = api.New(o.Server, o.Enrolment, retrying)
	return a, pending, errors.Join(errs[:]...)
}

// registerUntilTaken registers, and goes on trying while the server cannot be reached.
func (a *agent) registerUntilTaken(ctx context.Context) error {
	for pause := time.Duration(0); ; {
		err := a.register(ctx)
		if err == nil || api.Decided(err) || api.TokenEnded(err) || ctx.Err() != nil {
			return err
		}
		a.Log.Warn("registering failed: " + err.Error())
		pause = pauseLonger(ctx, pause)
	}
}

// register registers the agent, and uses the token that the server answers with.
func (a *agent) register(ctx context.Context) error {
	r := a.Registration
	r.BootID = a.bootID
	r.MaxConcurrentJobs = cmp.Or(r.MaxConcurrentJobs, &a.Seats)
	answer, err := a.enrolAPI.RegisterAgentWithResponse(ctx, a.Name, r)
	if err == nil {
		a.setToken(answer.JSON200.Token)
	}
	return err
}

func (a *agent) setToken(token string) {
	a.api.SetToken(token)
	a.beatAPI.SetToken(token)
}

// withValidToken makes a call, and makes it again with a new token where the old one has ended.
func (a *agent) withValidToken(ctx context.Context, call func() error) error {
	err := call()
	if !api.TokenEnded(err) {
		return err
	}
	if err := a.register(ctx); err != nil {
		return err
	}
	return call()
}

// pauseLonger waits longer than the last time, a quarter of a second to a quarter of a minute, and
// returns how long.
func pauseLonger(ctx context.Context, last time.Duration) time.Duration {
	pause := min(max(2*last, time.Second/4), 15*time.Second)
	timer := time.NewTimer(pause*3/4 + mathrand.N(pause/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return pause
}
