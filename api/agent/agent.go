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
	usualLease = 5 * time.Minute
	// longestWait is how long a claim waits for a job.
	longestWait = 25 * time.Second
	// patience is how long an agent that is to end goes on trying to report.
	patience = 10 * time.Second
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
	// Registration is what the agent says of itself; Run sets its boot id and how many jobs it takes.
	Registration api.Registration
	// Seats is how many jobs it works on at once; 0 is one.
	Seats int
	// Lease is how long a job stays the agent's while the server does not hear of it, 10 seconds to
	// a day; 0 is five minutes.
	Lease time.Duration
	// Outbox keeps reports on disk until the server has taken them; nil keeps them in memory.
	Outbox Outbox
	// Reported is called when the server has taken a report, or has refused it for good (err).
	Reported func(r Report, err error)
	// Program is the caller's name and version, such as "my-agent/1.4.0"; "" says neither.
	Program string
	// Transport makes the requests; nil is that of net/http.
	Transport http.RoundTripper
	// Log takes what went wrong and is tried again; nil logs nothing.
	Log *slog.Logger
}

// agent is a running loop.
type agent struct {
	Options
	work Work
	boot string
	// api is for the work, beats for heartbeats, which wait for no other call, enrol for registering.
	api, beats, enrol *api.Client
	beatNow, freed    chan struct{}
	jobs              sync.WaitGroup

	mu     sync.Mutex
	held   map[leaseID]*Job
	asking bool // a claim is under way, which may bring leases
}

type leaseID struct {
	job   string
	epoch int64
}

// Run works until ctx ends, which stops the work on the jobs that are held (ErrStopping), and returns
// when they are reported, nil. It returns an error where the agent cannot begin, or cannot go on:
// its token was revoked, another boot took its name, its program is too old.
func Run(ctx context.Context, o Options, work Work) error {
	a, left, err := newAgent(o, work)
	if err != nil {
		return err
	}
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(patience, end) })()
	if err := a.enter(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	for _, r := range left {
		a.deliver(background, r)
	}
	loops.Go(func() { a.heartbeats(background) })
	loops.Go(func() { a.watchLeases(background) })
	err = a.claims(ctx, background)
	for _, j := range a.holding() {
		j.stop(ErrStopping)
	}
	a.jobs.Wait()
	if err != nil {
		return err
	}
	if _, err := a.beats.EndAgentWithResponse(background, a.Name); err != nil {
		a.Log.Warn("the server does not know that the agent has ended: " + err.Error())
	}
	return nil
}

// newAgent returns the agent, and the reports that an earlier process left in the outbox.
func newAgent(o Options, work Work) (a *agent, left []Report, err error) {
	o.Lease, o.Seats = cmp.Or(o.Lease, usualLease), cmp.Or(o.Seats, 1)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a = &agent{Options: o, work: work, boot: rand.Text(), held: map[leaseID]*Job{},
		beatNow: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
	if o.Outbox != nil {
		if left, err = o.Outbox.Pending(); err != nil {
			return nil, nil, err
		}
		if len(left) > 0 {
			a.boot = left[0].Boot // another boot would end the leases that these are about
		}
	}
	again := api.Options{Program: o.Program, Transport: o.Transport, Retries: 3, LongestPause: 2 * time.Second}
	once := api.Options{Program: o.Program, Transport: o.Transport}
	var errs [3]error
	a.api, errs[0] = api.New(o.Server, "", again)
	a.beats, errs[1] = api.New(o.Server, "", once)
	a.enrol, errs[2] = api.New(o.Server, o.Enrolment, again)
	return a, left, errors.Join(errs[:]...)
}

// enter registers, and goes on trying while the server is away.
func (a *agent) enter(ctx context.Context) error {
	for pause := time.Duration(0); ; {
		err := a.register(ctx)
		if err == nil || api.Decided(err) || api.TokenEnded(err) || ctx.Err() != nil {
			return err
		}
		a.Log.Warn("registering failed: " + err.Error())
		pause = back(ctx, pause)
	}
}

// register says who the agent is, and takes the token that it is given.
func (a *agent) register(ctx context.Context) error {
	r := a.Registration
	r.BootID, r.MaxConcurrentJobs = a.boot, cmp.Or(r.MaxConcurrentJobs, &a.Seats)
	answer, err := a.enrol.RegisterAgentWithResponse(ctx, a.Name, r)
	if err == nil {
		a.setToken(answer.JSON200.Token)
	}
	return err
}

func (a *agent) setToken(token string) {
	a.api.SetToken(token)
	a.beats.SetToken(token)
}

// enrolled calls, and once more with a new token where the old one has ended.
func (a *agent) enrolled(ctx context.Context, call func() error) error {
	err := call()
	if !api.TokenEnded(err) {
		return err
	}
	if err := a.register(ctx); err != nil {
		return err
	}
	return call()
}

// back waits longer than the last time, a quarter of a second to a quarter of a minute, and returns
// how long.
func back(ctx context.Context, last time.Duration) time.Duration {
	pause := min(max(2*last, time.Second/4), 15*time.Second)
	timer := time.NewTimer(pause*3/4 + mathrand.N(pause/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return pause
}
