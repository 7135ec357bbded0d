package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// Job is one attempt at a job. Its methods may be called by many goroutines.
type Job struct {
	api.Job
	// API makes other calls as this agent: messages, new jobs, blobs.
	API *api.Client

	ctx  context.Context // of the work
	stop context.CancelCauseFunc

	mu         sync.Mutex
	heard      time.Time // when the call was sent that said last how long the lease lasts
	lasts      time.Duration
	checkpoint api.FreeForm
}

// Progress reports how far the work is, a checkpoint for a later attempt, and what models were used
// for; it fills in the job and the epoch. It returns the cause of the end of the work's context where
// the lease is not this agent's any more or the job is to stop, and else the call's error.
func (j *Job) Progress(report api.ProgressReport) error {
	report.Job, report.Epoch = j.Key, j.Lease.Epoch
	answer, err := j.API.ReportProgressWithResponse(j.ctx, report)
	switch {
	case api.Refused(err, lost...):
		j.stop(ErrFenced)
	case err == nil:
		j.obey(answer.JSON200.Directive)
	}
	if err == nil && report.Checkpoint != nil {
		j.mu.Lock()
		j.checkpoint = report.Checkpoint
		j.mu.Unlock()
	}
	if cause := context.Cause(j.ctx); cause != nil {
		return cause
	}
	return err
}

// lost are the refusals of a report about a lease that is not the agent's any more.
var lost = []api.ProblemCode{api.ProblemCodeStaleEpoch, api.ProblemCodeLeaseExpired, api.ProblemCodeSuperseded,
	api.ProblemCodeAlreadyEnded}

// obey does what the server wants of the work.
func (j *Job) obey(d api.Directive) {
	switch d {
	case api.DirectiveFenced:
		j.stop(ErrFenced)
	case api.DirectivePause:
		j.stop(ErrPaused)
	case api.DirectiveCancel:
		j.stop(ErrCancelled)
	}
}

// extend takes what a call that was sent at a time said: that the lease lasts for this long from
// then. An answer that comes late makes it no shorter.
func (j *Job) extend(sent time.Time, lasts time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if sent.Add(lasts).After(j.heard.Add(j.lasts)) {
		j.heard, j.lasts = sent, lasts
	}
}

// left returns how long the lease lasts at least, on the clock that has gone further: the monotonic one
// stands still while a machine sleeps.
func (j *Job) left() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	return j.lasts - max(now.Sub(j.heard), now.Round(0).Sub(j.heard.Round(0)))
}

// do works on a job and reports what came of it.
func (a *agent) do(background context.Context, j *Job) {
	defer a.letGo(j)
	_, err := a.api.StartJobWithResponse(j.ctx, api.LeaseRef{Job: j.Key, Epoch: j.Lease.Epoch})
	if api.Refused(err, lost...) {
		return
	}
	result, err := a.call(j)
	r, ok := j.report(result, err)
	if !ok {
		a.Log.Warn("nothing is reported of an attempt: "+context.Cause(j.ctx).Error(), "job", j.Key, "epoch", j.Lease.Epoch)
		return
	}
	r.Boot = a.boot
	if a.Outbox != nil {
		if err := a.Outbox.Put(r); err != nil {
			a.Log.Error("a report is not kept on disk: "+err.Error(), "job", j.Key)
		}
	}
	a.deliver(background, r)
}

// call calls Work; a panic is an error.
func (a *agent) call(j *Job) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := fit(string(debug.Stack()), api.MaxFailureStack)
			err = Fail(api.Failure{Error: fit(fmt.Sprint("panic: ", p), api.MaxFailureError), Stack: &stack, Retryable: new(true)})
		}
	}()
	return a.work(j.ctx, j)
}

// report returns how the attempt ends; ok is false where nothing is to be said.
func (j *Job) report(result Result, err error) (r Report, ok bool) {
	why := context.Cause(j.ctx)
	chosen, isChosen := errors.AsType[*ending](err)
	switch {
	case errors.Is(why, ErrFenced):
		return Report{}, false
	case err == nil:
		r.Complete = &result
	case isChosen:
		r = chosen.Report
	case errors.Is(why, ErrUnheard):
		return Report{}, false
	case why != nil:
		r.Release = &api.LeaseRelease{Reason: "Stopped: " + why.Error() + "."}
	default:
		said := cmp.Or(err.Error(), "The work failed without a reason.")
		r.Fail = &api.Failure{Error: fit(said, api.MaxFailureError), Retryable: new(true)}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.address(j.Key, j.Lease.Epoch, j.checkpoint)
	return r, true
}
