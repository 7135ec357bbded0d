package worker

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/forge"
	"github.com/fleetboard/fleetboard/internal/client/worker/outbox"
	"github.com/fleetboard/fleetboard/internal/client/worker/probe"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// Options are what a worker is started with.
type Options struct {
	// Server is the address of the server, Enrolment the token to register with.
	Server, Enrolment string
	// Issuer is the id of a trusted issuer, and IDTokenFile has the platform's token, to register
	// with instead; "" registers with Enrolment.
	Issuer, IDTokenFile string
	// Name is the agent's, Factory that of the host on the board.
	Name, Factory string
	// Pool is the pool that the factory belongs to, "" for none.
	Pool string
	// Roles are what messages may address the agent as; none is worker.
	Roles []string
	// State is the worker's own directory; no other worker uses it.
	State string
	// Repos are the repositories that it works in.
	Repos *repos.Repos
	// Engines are tried in this order where a job names none.
	Engines []engines.Engine
	// Seats is how many jobs it works on at once, Labels are capabilities beside those
	// that are found.
	Seats  int
	Labels []string
	// Check is a command that must pass before work is handed in; "" for none.
	Check string
	// Model is the one that engines use where neither the job's product nor Models names one for
	// its tier; "" leaves it to them.
	Model  string
	Models tiermodel.Table
	// Lease is how long a job stays ours while the server gets no call.
	Lease time.Duration
	// Beat is how often it sends the server a heartbeat.
	Beat time.Duration
	// MaxTime is how long an attempt may take; 0 is no limit.
	MaxTime time.Duration
	// ProofTime is how long a proof command may take; 0 is ten minutes.
	ProofTime time.Duration
	// Retry is how long an engine or a repository that failed is not offered, the first time.
	Retry time.Duration
	// LookedFor: nobody named the engines, so that it is no news that one is not installed.
	LookedFor bool
	// Pass names variables of the environment that engines get beside the usual ones.
	Pass []string
	// Forges are those at which it opens pull requests. It reads the state of one each ForgePoll,
	// and waits for ForgeQuiet for a first check.
	Forges                forge.Forges
	ForgePoll, ForgeQuiet time.Duration
	// Program is the path of the fleet command, which engines start as `fleet mcp`; ""
	// gives them no tools.
	Program string
	Log     *slog.Logger
}

// Worker is a running factory.
type Worker struct {
	Options
	api   *api.Client // of the work
	beats *api.Client // of heartbeats: they wait for no other call
	mail  *mail
	enrol *api.Client
	out   *outbox.Outbox
	// refused is how many entries of usage the server refused.
	refused atomic.Int64
	bootID  string
	inbox   *inbox
	offer   *offer

	freed   signal.Signal // a seat may be free
	beatNow signal.Signal // the server should get a heartbeat at once
	looks   chan struct{} // has a place for each who may look at pull requests at the same time
	stopped context.Context
	leaving context.Context // ends when the worker claims nothing more
	leave   func()          // ends it

	leases *leases

	mu     sync.Mutex
	token  string         // the one that the server gave last
	group  sync.WaitGroup // of attempts
	pushes sync.WaitGroup // of branches that the origin has not decided about
}

// Run works until ctx ends; then it claims nothing more and returns when the attempts that
// run have ended. When stop ends, they are ended too: their work is saved and given back.
// The error says why the worker could not begin or go on.
func Run(ctx, stop context.Context, o Options) error {
	w, err := newWorker(ctx, stop, o)
	if err != nil {
		return err
	}
	lock, err := lockState(o.State)
	if err != nil {
		return err
	}
	defer lock.unlock()
	if err := o.Repos.ClearLocks(); err != nil {
		o.Log.Warn("what a killed git left is not all cleared: " + err.Error())
	}
	if w.bootID, err = bootID(o.State); err != nil {
		return err
	}
	o.Log.Info("looks which engines and toolchains run here; that takes up to " + probe.Patience.String())
	if err := w.offer.probeHost(ctx); err != nil {
		return err
	}
	if err := w.enter(ctx); err != nil {
		return w.over(err)
	}
	w.announce()
	if err := w.work(ctx); err != nil {
		return w.over(err)
	}
	endAgent(ctx, w.beats, w.Name, w.Log)
	left, err := w.out.Pending()
	if len(left) > 0 || err != nil {
		return err // the next start goes on under the same boot id
	}
	return forgetBoot(o.State)
}

// over forgets the boot id where the server wants no more of it: the next start is another
// boot.
func (w *Worker) over(err error) error {
	if api.Refused(err, api.ProblemCodeSuperseded, api.ProblemCodeTokenRevoked, api.ProblemCodeFactoryElsewhere) {
		return errors.Join(err, forgetBoot(w.State))
	}
	return err
}

func newWorker(ctx, stop context.Context, o Options) (*Worker, error) {
	w := &Worker{Options: o, inbox: newInbox(o.Name), freed: signal.New(), beatNow: signal.New(), stopped: stop,
		looks: make(chan struct{}, looksAtOnce)}
	w.leases = newLeases(w.freed)
	w.offer = newOffer(&w.Options, func() { w.freed.Set(); w.beatNow.Set() })
	w.leaving, w.leave = context.WithCancel(ctx)
	var errs [5]error
	again := api.Options{Retries: 3, LongestPause: 2 * time.Second}
	if tracing.On() {
		again.Transport = tracing.Transport(http.DefaultTransport.(*http.Transport).Clone())
	}
	w.api, errs[0] = client.New(o.Server, "", again)
	w.beats, errs[1] = client.New(o.Server, "", api.Options{})
	w.enrol, errs[2] = client.New(o.Server, o.Enrolment, again)
	w.mail = &mail{w: w}
	w.mail.api, errs[3] = client.New(o.Server, "", api.Options{})
	w.out, errs[4] = outbox.Open(filepath.Join(o.State, "outbox"))
	return w, errors.Join(errs[:]...)
}

// work runs the loops. Heartbeats and the outbox end last: what the attempts left is sent.
func (w *Worker) work(ctx context.Context) error {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	defer loops.Wait()
	defer cancel()
	if err := (recovery{w}).run(background); err != nil {
		return err
	}
	loops.Go(func() { w.heartbeats(background) })
	loops.Go(func() { w.leases.watch(background) })
	loops.Go(func() { w.cleanUps(background) })
	loops.Go(func() { w.offer.keepLooking(background, w.namesOfProducts) })
	loops.Go(func() { w.offer.retry(background) })
	loops.Go(func() { w.mail.run(background) })
	err := w.claims(ctx, background)
	w.leave() // what cannot be claimed is not requested otherwise either
	w.group.Wait()
	w.pushes.Wait()
	w.mail.settle(background)
	if err == nil { // a claim that was broken off may have been given something
		if err := w.heartbeat(background); err != nil {
			w.Log.Warn("the last heartbeat failed: " + err.Error())
		}
	}
	return err
}
