package worker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/process"
	"github.com/fleetboard/fleetboard/internal/client/forge"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// Names in a job's input_context that are for the worker. They are what whoever makes a job
// may give to the scripted engine, on hosts that offer it; no order is among them.
const (
	scriptKey  = "script"  // what the scripted engine plays
	commandKey = "command" // what examples/agent.sh runs
)

// attempt is the work on a claimed job.
type attempt struct {
	w   *Worker
	job api.Job
	// request is the id of the call that claimed it.
	request string
	lease   *lease
	at      repos.Attempt // its name among branches and files

	scratch string
	env     []string
	*parts
	unready  error           // why it cannot have what it needs
	tree     *repos.Worktree // nil where the job has no repository
	verifies *verifying      // nil where the job is another than one of kind verify
	reporter *reporter
	again    bool         // the process before this one was killed in it
	commit   string       // the newest on the branch
	model    api.ModelRun // what runs it, once it does

	span *tracing.Span // of the attempt

	mu       sync.Mutex
	session  string
	agent    json.RawMessage // the agent's own checkpoint
	question string
	answers  []api.CommentAnswer
	spoke    bool              // the engine has done something
	pull     forge.PullRequest // the one that merges
}

// start begins an attempt; its lease is held.
func (w *Worker) start(ctx context.Context, c claimed, again bool) {
	p, unready := &parts{offer: w.offer}, error(nil)
	if !isOrdered(c.Job) || isVerification(c.Job) {
		p, unready = w.offer.choose(c.Capabilities, c.Repo) // before the next claim: what is tried is offered no more
	}
	w.group.Go(func() {
		defer w.leases.letGo(c.lease)
		secretEnv, secret := readSecrets(c.Job, w.secrets()...)
		a := &attempt{w: w, job: c.Job, request: c.request, lease: c.lease, at: attemptForJob(c.Job, c.lease.epoch),
			reporter: newReporter(c.lease, w.api, secret, w.countRefused), again: again}
		a.reporter.steps.unknown = again
		a.parts, a.unready, p.hide = p, unready, secret.Text
		a.scratch = w.scratch(a.at.Name())
		a.env = append(a.environment(), secretEnv...)
		defer context.AfterFunc(w.stopped, func() { c.lease.end(whyStopping, "The worker stops.") })()
		a.run(ctx)
	})
}

// run works on the job and reports how it ended.
func (a *attempt) run(ctx context.Context) {
	log := a.w.Log.With("job", a.job.Key, "epoch", a.lease.epoch)
	log.Info("begins: " + a.job.Title)
	telling, stop := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() { a.reporter.run(telling) })
	a.w.inbox.begin(a.job.Key)
	ctx, a.span = tracing.Continue(ctx, said(a.job.Traceparent), "attempt",
		tracing.JobKey.String(a.job.ID.String()), tracing.EpochKey.Int64(a.lease.epoch))
	end := a.ending(a.span.Under(a.lease.work))
	defer a.span.End(end.kind())
	a.w.inbox.end(a.job.Key)
	a.judge(end)
	// What is withdrawn is given to nobody once the report has given the job back.
	if err := a.w.tellOffer(ctx); err != nil {
		log.Warn("what is offered could not be told: " + err.Error())
	}
	process.KillMarked(a.attemptMarker()) // what the engine left running
	stop()
	teller.Wait()
	log.Info("ends: " + end.said)
	if err := a.conclude(ctx, end); err != nil {
		log.Error("the end of the attempt could not be dealt with: " + err.Error())
		return
	}
	if err := os.RemoveAll(a.scratch); err != nil {
		log.Warn("the directory of the attempt stays: " + err.Error())
	}
}

// ending does the work and returns how it ended. ctx ends when the lease's work is to stop.
func (a *attempt) ending(ctx context.Context) ending {
	if withdrawn, ok := errors.AsType[withdrawnError](a.unready); ok {
		return a.stoppedOr(release(withdrawn.Error()))
	}
	if err := a.prepare(ctx); err != nil {
		return a.stoppedOr(failure(failureKind(err), err.Error(), !errors.Is(err, errNoEngine)))
	}
	if a.isOrdered() {
		return a.obey(ctx)
	}
	if reason, ok := a.mayBegin(ctx); !ok {
		return release(reason)
	}
	defer a.w.limitTime(a.lease)()
	result, err := a.runEngine(ctx)
	if err != nil {
		return a.stoppedOr(failure("engine_missing", err.Error(), true))
	}
	if end, stopped := a.stopped(); stopped {
		return end
	}
	if result.Question != "" {
		a.question = result.Question
	}
	if end, asked := a.asked(); asked {
		return end
	}
	if !result.OK {
		return failed(result)
	}
	return a.handIn(ctx, result)
}

// prepare makes the directory of the attempt, its worktree, and chooses the engine.
func (a *attempt) prepare(ctx context.Context) error {
	if err := os.MkdirAll(a.scratch, 0o700); err != nil {
		return err
	}
	if err := a.remember(); err != nil {
		return err
	}
	a.w.inbox.files(a.job.Key, readFiled(a.scratch, a.job)...)
	if a.job.Repo != "" && !a.isOrdered() {
		a.reporter.step("makes a worktree of " + a.job.Repo)
		err := trace(ctx, "clone", "clone_failed", a.openTree)
		a.judgeRepo(ctx, err)
		if err != nil {
			return err
		}
	}
	return a.unready
}

// limitTime ends the work on a lease when it has taken as long as an attempt may, until stop is called.
func (w *Worker) limitTime(l *lease) (stop func()) {
	if w.MaxTime == 0 {
		return func() {}
	}
	limit := time.AfterFunc(w.MaxTime, func() { l.end(whyTimeout, "") })
	return func() { limit.Stop() }
}

// openTree makes the worktree, from where an earlier attempt left its work, if it can be
// found.
func (a *attempt) openTree(ctx context.Context) (err error) {
	if a.again {
		a.tree, err = a.w.Repos.Reopen(ctx, a.at)
		if err == nil || !errors.Is(err, repos.ErrGone) {
			return err
		}
	}
	left, begin := leftBehind(a.job.Checkpoint), a.at
	begin.Continue = left.Commit
	if a.tree, err = a.w.Repos.Begin(ctx, begin); err != nil {
		return err
	}
	a.tellNotes()
	if a.tree.Continued {
		a.commit = left.Commit // until there is a newer one
	}
	switch {
	case left.Commit == "" || a.tree.Continued:
	case a.tree.Contained:
		a.reporter.log("INFO", "worktree",
			"The branch that work begins from has all of the last attempt ("+left.Branch+"); this one goes on from there.")
	default:
		a.reporter.log("WARNING", "worktree",
			"The work of the last attempt ("+left.Branch+") is not to be found here; this one begins anew.")
	}
	return nil
}

// tellNotes reports what of the worktree is not as it should be.
func (a *attempt) tellNotes() {
	for _, note := range a.tree.Notes {
		a.reporter.log("WARNING", "worktree", note)
	}
}

// dir is where the engine works.
func (a *attempt) dir() string {
	if a.tree != nil {
		return a.tree.Dir
	}
	if a.verifies != nil && a.verifies.tree != nil {
		return a.verifies.tree.Dir
	}
	return a.scratch
}

// mayBegin checks whether the budgets have left what the job is expected to cost, and nobody has
// paused it. It returns why it may not.
func (a *attempt) mayBegin(ctx context.Context) (reason string, ok bool) {
	answer, err := a.w.api.CheckBudgetWithResponse(
		ctx,
		api.BudgetCheck{Job: a.job.Key, Epoch: a.lease.epoch, At: api.BudgetCheckAtSpawn, EstimateUSD: a.job.EstimatedUSD},
	)
	if err != nil {
		if api.Refused(err, api.ProblemCodeStaleEpoch, api.ProblemCodeLeaseExpired, api.ProblemCodeSuperseded) {
			a.lease.end(whyFenced, err.Error())
		}
		return "", true // heartbeats say what must be obeyed
	}
	if answer.JSON200.Directive == api.DirectivePause {
		reason = "The job was paused before it began."
		if said := answer.JSON200.Reason; said != nil && *said != "" {
			reason = *said
		}
		return reason, false
	}
	a.lease.obey(answer.JSON200.Directive, answer.JSON200.Reason)
	return "", true
}
