package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
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
	extendedAt time.Time     // when the call was sent whose answer last extended the lease
	duration   time.Duration // of the lease, from extendedAt
	checkpoint api.FreeForm
	touched    []string // files that are to be reported
}

// Progress reports how far the work is, a checkpoint for a later attempt, and what models were used
// for; it fills in the job and the epoch. It returns the cause of the end of the work's context where
// the lease is not this agent's any more or the job is to stop, and else the call's error.
func (j *Job) Progress(report api.ProgressReport) error {
	report.Job = j.Key
	report.Epoch = j.Lease.Epoch
	answer, err := j.API.ReportProgressWithResponse(j.ctx, report)
	switch {
	case api.Refused(err, leaseLost...):
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

// Touched says that the work has touched files of the job's repo, by their paths in it: with the next
// heartbeat the server learns of them, and says to people which other jobs at work touch one of them.
// Progress can say the same at once. Files that were said before cost little.
func (j *Job) Touched(paths ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, path := range paths {
		if !slices.Contains(j.touched, path) && len(j.touched) < maxTouched {
			j.touched = append(j.touched, path)
		}
	}
}

// maxTouched is how many files wait for a heartbeat; those beyond are left out.
const maxTouched = 2 * api.MaxProgressReportFilesTouched

// untold returns files that the next heartbeat is to report; nil for none.
func (j *Job) untold() *[]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.touched) == 0 {
		return nil
	}
	list := slices.Clone(j.touched[:min(len(j.touched), api.MaxProgressReportFilesTouched)])
	return &list
}

// forgetTouched forgets files that the server has, or does not take.
func (j *Job) forgetTouched(list *[]string) {
	if list == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.touched = slices.DeleteFunc(j.touched, func(path string) bool { return slices.Contains(*list, path) })
}

// leaseLost are the codes of refusals of a report about a lease that is not the agent's any more.
var leaseLost = []api.ProblemCode{
	api.ProblemCodeStaleEpoch,
	api.ProblemCodeLeaseExpired,
	api.ProblemCodeSuperseded,
	api.ProblemCodeAlreadyEnded,
}

// obey stops the work where the directive says so.
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

// extend extends the lease to a duration from when the call was sent whose answer says so. An answer
// that comes late does not shorten it.
func (j *Job) extend(sent time.Time, duration time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if sent.Add(duration).After(j.extendedAt.Add(j.duration)) {
		j.extendedAt = sent
		j.duration = duration
	}
}

// left returns how long the lease still lasts at least, by the clock that is further ahead: the
// monotonic one stands still while a machine sleeps.
func (j *Job) left() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	return j.duration - max(now.Sub(j.extendedAt), now.Round(0).Sub(j.extendedAt.Round(0)))
}

// runJob works on a job and reports how the attempt ends.
func (a *agent) runJob(workCtx context.Context, j *Job) {
	defer a.removeLease(j)
	_, err := a.api.StartJobWithResponse(j.ctx, api.StartReport{Job: j.Key, Epoch: j.Lease.Epoch})
	if api.Refused(err, leaseLost...) {
		return
	}
	result, err := a.callWork(j)
	r, ok := j.report(result, err)
	if !ok {
		a.Log.Warn("nothing is reported of an attempt: "+context.Cause(j.ctx).Error(), "job", j.Key, "epoch", j.Lease.Epoch)
		return
	}
	r.Boot = a.bootID
	if a.Outbox != nil {
		if err := a.Outbox.Put(r); err != nil {
			a.Log.Error("a report is not kept on disk: "+err.Error(), "job", j.Key)
		}
	}
	a.deliver(workCtx, r)
}

// callWork calls Work; a panic is an error.
func (a *agent) callWork(j *Job) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := fit(string(debug.Stack()), api.MaxFailureStack)
			err = Fail(api.Failure{Error: fit(fmt.Sprint("panic: ", p), api.MaxFailureError), Stack: &stack, Retryable: new(true)})
		}
	}()
	return a.work(j.ctx, j)
}

// report returns the report that ends the attempt; ok is false where nothing is reported.
func (j *Job) report(result Result, err error) (r Report, ok bool) {
	cause := context.Cause(j.ctx)
	chosen, isChosen := errors.AsType[*ending](err)
	switch {
	case errors.Is(cause, ErrFenced):
		return Report{}, false
	case err == nil:
		r.Complete = &result
	case isChosen:
		r = chosen.Report
	case errors.Is(cause, ErrUnheard):
		return Report{}, false
	case cause != nil:
		r.Release = &api.LeaseRelease{Reason: "Stopped: " + cause.Error() + "."}
	default:
		text := cmp.Or(err.Error(), "The work failed without a reason.")
		r.Fail = &api.Failure{Error: fit(text, api.MaxFailureError), Retryable: new(true)}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.address(j.Key, j.Lease.Epoch, j.checkpoint)
	return r, true
}
