package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/worker/outbox"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// lastChance is how long a worker that has to stop tries to send a report. What is
	// not sent stays in the outbox for the next start.
	lastChance = 5 * time.Second
)

// conclude writes the final report down, sends it until the server decides, and then
// pushes the branch, or puts it into quarantine. What could not be sent is no error. Of an
// attempt that the server has fenced off nothing is pushed, but what it used is reported.
func (a *attempt) conclude(ctx context.Context, end ending) error {
	a.save(end)
	end = a.withoutSecrets(ctx, end)
	if end.body != nil {
		a.told.checkpoint(a.checkpointNow())
	}
	if !a.told.flush(ctx) {
		a.w.Log.Warn("the last lines wait for the server", "job", a.job.Key)
	}
	r, err := a.report(end)
	if err != nil {
		return err
	}
	if end.body != nil {
		a.w.writeDown(r)
		return a.w.deliver(ctx, r, a.tree)
	}
	if err = a.refuse(ctx); len(r.Usage) == 0 {
		return err
	}
	a.w.writeDown(r)
	return errors.Join(err, a.w.deliver(ctx, r, nil))
}

// report returns the final report of an attempt, with the lines and the usage that the server
// has not got.
func (a *attempt) report(end ending) (outbox.Report, error) {
	r := outbox.Report{Job: a.job.Key, Epoch: a.lease.epoch, ID: a.at.ID, Repo: a.job.Repo, At: time.Now()}
	lines, usage := a.told.rest()
	if end.body != nil { // the log takes no lines of a lease that ended
		a.address(end.body)
		body, err := json.Marshal(end.body)
		if err != nil {
			return r, err
		}
		r.Verb, r.Body = end.body.Verb(), body
		for part := range slices.Chunk(lines, maxSent) {
			raw, err := json.Marshal(api.LogBatch{Job: a.at.ID, Epoch: a.lease.epoch, Lines: part})
			if err != nil {
				return r, err
			}
			r.Logs = append(r.Logs, raw)
		}
	}
	for part := range slices.Chunk(usage, api.MaxUsageReportEntries) {
		raw, err := json.Marshal(api.UsageReport{Job: &a.at.ID, Epoch: &a.lease.epoch, Entries: part})
		if err != nil {
			return r, err
		}
		r.Usage = append(r.Usage, raw)
	}
	return r, nil
}

// writeDown keeps a report for the time after a crash. Where that is not possible, such as on
// a full disk, it is sent all the same.
func (w *Worker) writeDown(r outbox.Report) {
	if err := w.out.Put(r); err != nil {
		w.Log.Error("the report could not be written down; it is sent all the same: "+err.Error(), "job", r.Job, "epoch", r.Epoch)
	}
}

// deliver sends a report until the server decides about it, and does what follows. What the
// server gives in the place of the job begins in the context of the attempts.
func (w *Worker) deliver(attempts context.Context, r outbox.Report, tree *repos.Worktree) error {
	ctx, cancel := context.WithCancel(attempts)
	defer cancel()
	defer context.AfterFunc(w.stopped, func() { time.AfterFunc(lastChance, cancel) })()
	if !r.Accepted {
		refusal, next, err := w.decide(ctx, r)
		for _, j := range next {
			w.start(attempts, j, false)
		}
		if err != nil {
			return err // it stays in the outbox
		}
		if failed, ok := replaceRefused(r, refusal); ok {
			w.writeDown(failed)
			return w.deliver(attempts, failed, tree)
		}
		if refusal != nil || r.Verb == "" {
			return errors.Join(quarantine(ctx, tree), w.out.Remove(r))
		}
		r.Accepted, r.Logs, r.Usage = true, nil, nil
		w.writeDown(r)
	}
	if tree == nil {
		return w.out.Remove(r)
	}
	if err := tree.Leave(); err != nil {
		w.Log.Error("the directory of an attempt stays: "+err.Error(), "job", r.Job, "dir", tree.Dir)
	}
	w.pushes.Go(func() { w.handOver(attempts, r, tree) })
	return nil
}

// handOver pushes the branch of a report that the server took, reports what became of
// it, and forgets the attempt. It takes no seat, however long the origin is away.
func (w *Worker) handOver(attempts context.Context, r outbox.Report, tree *repos.Worktree) {
	ctx, cancel := context.WithCancel(attempts)
	defer cancel()
	defer context.AfterFunc(w.stopped, func() { time.AfterFunc(lastChance, cancel) })()
	err := w.pushAndTell(ctx, r, tree)
	if err == nil {
		// The report goes last: what is left without one is taken for work that nobody accepted.
		if err = errors.Join(tree.Close(ctx), os.RemoveAll(w.scratch(attemptForReport(r).Name()))); err == nil {
			err = w.out.Remove(r)
		}
	}
	if err != nil {
		w.Log.Error("the branch is not handed over: "+err.Error(), "job", r.Job, "epoch", r.Epoch)
	}
}

// formRefusals are the statuses by which the server refuses a report for its form.
var formRefusals = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// replaceRefused returns the failure to send in the place of a report that was refused for its
// form: sent again, the report would be refused again, and nobody would learn of the attempt.
func replaceRefused(r outbox.Report, refusal *api.Error) (outbox.Report, bool) {
	if refusal == nil || r.Plain || !slices.Contains(formRefusals, refusal.Status) {
		return r, false
	}
	kind, retryable := "other", false
	text := fmt.Sprintf("The server refused the report of this attempt (%s) for its form; the work is on its branch. %s", r.Verb, refusal)
	body, err := json.Marshal(api.Failure{
		Job:       cmp.Or(r.ID, r.Job),
		Epoch:     r.Epoch,
		Kind:      &kind,
		Retryable: &retryable,
		Error:     redact.Cut(plainText(text), api.MaxFailureError),
	})
	if err != nil {
		return r, false // texts and numbers only
	}
	r.Verb, r.Body, r.Plain = api.VerbFail, body, true
	return r, true
}

// decide sends a report until the server takes or refuses it. It returns the refusal, nil
// where it was taken, and what the server gave in the place of the job, with its leases held.
func (w *Worker) decide(ctx context.Context, r outbox.Report) (refusal *api.Error, found []claimed, err error) {
	defer w.beginAsking()()
	pause, next := time.Second/4, w.newNext()
	for {
		if w.leaving.Err() != nil || !w.offer.hasEngine() || !w.offer.isTold() {
			next = nil
		}
		sent := sinceBoot()
		var ended *api.Job
		err = w.enrolled(ctx, func() (err error) {
			ended, err = w.send(ctx, r, next)
			return err
		})
		if api.Decided(err) {
			if ended != nil {
				w.countRefused(r.Job, refusedUsage(ended.UsageResults))
			}
			if ended != nil && ended.Next != nil {
				found = w.holdAll(ended.Next.Jobs, sent, said(next.RequestID))
			}
			if err != nil {
				w.Log.Warn("the report was refused: "+err.Error(), "job", r.Job, "epoch", r.Epoch, "verb", r.Verb)
			}
			_ = errors.As(err, &refusal) // nil where it was taken
			return refusal, found, nil
		}
		w.Log.Warn("the report waits for the server: "+err.Error(), "job", r.Job, "verb", r.Verb)
		if signal.Sleep(ctx, signal.Jitter(pause, 0.3)) != nil {
			return nil, nil, fmt.Errorf("the report stays in the outbox: %w", ctx.Err())
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// send sends a report, and the usage and the lines before it. It returns the job as it is then,
// with what the worker got for the seat, nil where the report was refused.
func (w *Worker) send(ctx context.Context, r outbox.Report, next *api.NextRequest) (*api.Job, error) {
	for _, raw := range r.Usage {
		answer, err := call(raw, func(b api.UsageReport) (*api.ReportUsageResponse, error) {
			return w.api.ReportUsageWithResponse(ctx, b)
		})
		if !api.Decided(err) {
			return nil, err
		}
		if err != nil {
			w.countRefused(r.Job, []string{"Usage was refused: " + err.Error()})
			continue
		}
		w.countRefused(r.Job, refusedUsage(&answer.JSON200.Results))
	}
	for _, raw := range r.Logs {
		_, err := call(raw, func(b api.LogBatch) (*api.WriteLogsResponse, error) {
			return w.api.WriteLogsWithResponse(ctx, b)
		})
		if !api.Decided(err) {
			return nil, err
		}
	}
	if r.Verb == "" {
		return nil, nil
	}
	body, err := api.NewLeaseEnd(r.Verb)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(r.Body, body); err != nil {
		return nil, err
	}
	*body.Shared().Next = next
	return body.Send(ctx, w.api)
}

// call reads the body of a call and makes it.
func call[B, A any](raw json.RawMessage, do func(B) (*A, error)) (*A, error) {
	var body B
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	return do(body)
}

// refuse deals with an attempt that the server has fenced off: nothing of it is pushed.
func (a *attempt) refuse(ctx context.Context) error {
	a.w.Log.Warn("fenced: the work stays in quarantine", "job", a.job.Key, "epoch", a.lease.epoch)
	return quarantine(ctx, a.tree)
}

// quarantine puts the work of an attempt aside, where nothing takes it for accepted.
func quarantine(ctx context.Context, tree *repos.Worktree) error {
	if tree == nil {
		return nil
	}
	return errors.Join(tree.Quarantine(ctx), tree.Close(ctx))
}
