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
		a.reporter.checkpoint(a.checkpointNow())
	}
	if !a.reporter.flush(ctx) {
		a.w.Log.Warn("the last lines wait for the server", "job", a.job.Key)
	}
	r, err := a.report(end)
	if err != nil {
		return err
	}
	if end.body != nil {
		a.w.writeDown(r)
		return a.w.newDelivery(r, a.tree).run(ctx)
	}
	if err = a.refuse(ctx); len(r.Usage) == 0 {
		return err
	}
	a.w.writeDown(r)
	return errors.Join(err, a.w.newDelivery(r, nil).run(ctx))
}

// report returns the final report of an attempt, with the lines and the usage that the server
// has not got.
func (a *attempt) report(end ending) (outbox.Report, error) {
	r := outbox.Report{Job: a.job.Key, Epoch: a.lease.epoch, ID: a.at.ID, Repo: a.job.Repo, At: time.Now()}
	lines, usage := a.reporter.rest()
	if end.body != nil { // the log takes no lines of a lease that ended
		a.address(end.body)
		body, err := json.Marshal(end.body)
		if err != nil {
			return r, err
		}
		r.Verb, r.Body = end.body.Call().Verb, body
		for part := range slices.Chunk(lines, maxSent) {
			raw, err := json.Marshal(api.LogBatch{Job: a.at.ID, Epoch: a.lease.epoch, Lines: part})
			if err != nil {
				return r, err
			}
			r.Logs = append(r.Logs, raw)
		}
		for _, part := range a.reporter.restSteps(a.at.ID) {
			raw, err := json.Marshal(part)
			if err != nil {
				return r, err
			}
			r.Steps = append(r.Steps, raw)
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

// delivery is a report on its way to the server, and what follows from it.
type delivery struct {
	*Worker

	r    outbox.Report
	tree *repos.Worktree // nil where the attempt has none
}

func (w *Worker) newDelivery(r outbox.Report, tree *repos.Worktree) *delivery {
	return &delivery{w, r, tree}
}

// run sends the report until the server decides about it, and does what follows. What the
// server gives in the place of the job begins in the context of the attempts.
func (d *delivery) run(attempts context.Context) error {
	ctx, cancel := context.WithCancel(attempts)
	defer cancel()
	defer context.AfterFunc(d.stopped, func() { time.AfterFunc(lastChance, cancel) })()
	if !d.r.Accepted {
		refusal, next, err := d.decide(ctx)
		for _, j := range next {
			d.start(attempts, j, false)
		}
		if err != nil {
			return err // it stays in the outbox
		}
		if unproved, ok := withoutProofs(d.r, refusal); ok {
			d.writeDown(unproved)
			return d.newDelivery(unproved, d.tree).run(attempts)
		}
		if failed, ok := replaceRefused(d.r, refusal); ok {
			d.writeDown(failed)
			return d.newDelivery(failed, d.tree).run(attempts)
		}
		if refusal != nil || d.r.Verb == "" {
			return errors.Join(quarantine(ctx, d.tree), d.out.Remove(d.r))
		}
		d.r.Accepted, d.r.Logs, d.r.Steps, d.r.Usage = true, nil, nil, nil
		d.writeDown(d.r)
	}
	if d.tree == nil {
		return d.out.Remove(d.r)
	}
	if err := d.tree.Leave(); err != nil {
		d.Log.Error("the directory of an attempt stays: "+err.Error(), "job", d.r.Job, "dir", d.tree.Dir)
	}
	d.pushes.Go(func() { d.handOver(attempts) })
	return nil
}

// handOver pushes the branch of a report that the server took, reports what became of
// it, and forgets the attempt. It takes no seat, however long the origin is away.
func (d *delivery) handOver(attempts context.Context) {
	ctx, cancel := context.WithCancel(attempts)
	defer cancel()
	defer context.AfterFunc(d.stopped, func() { time.AfterFunc(lastChance, cancel) })()
	err := trace(ctx, "push", "other", d.push)
	if err == nil {
		// The report goes last: what is left without one is taken for work that nobody accepted.
		if err = errors.Join(d.tree.Close(ctx), os.RemoveAll(d.scratch(attemptForReport(d.r).Name()))); err == nil {
			err = d.out.Remove(d.r)
		}
	}
	if err != nil {
		d.Log.Error("the branch is not handed over: "+err.Error(), "job", d.r.Job, "epoch", d.r.Epoch)
	}
}

// isRefusedForForm reports whether the server refused a call for its form.
func isRefusedForForm(err error) bool {
	refusal, ok := errors.AsType[*api.Error](err)
	ofForm := []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
	return ok && slices.Contains(ofForm, refusal.Status)
}

// replaceRefused returns the failure to send in the place of a report that was refused for its
// form, or since it is not this agent's to send: sent again, it would be refused again, and nobody
// would learn of the attempt.
func replaceRefused(r outbox.Report, refusal *api.Error) (outbox.Report, bool) {
	forbidden := refusal != nil && refusal.Status == http.StatusForbidden && r.Verb == api.VerbComplete
	if refusal == nil || r.Plain || !forbidden && !isRefusedForForm(refusal) {
		return r, false
	}
	kind, retryable := "other", false
	text := fmt.Sprintf("The server refused the report of this attempt (%s) for its form; the work is on its branch. %s", r.Verb, refusal)
	if forbidden { // such as the verdict of whoever ran the model of an author
		text = refusal.Error()
	}
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

// withoutProofs returns a report whose proofs were refused, such as for a criterion that a person has changed
// meanwhile, without them: the work is handed in all the same, with what the server said of them.
func withoutProofs(r outbox.Report, refusal *api.Error) (outbox.Report, bool) {
	if refusal == nil || refusal.Code != api.ProblemCodeProofRefused || r.Verb != api.VerbComplete {
		return r, false
	}
	var work api.Completion
	if err := json.Unmarshal(r.Body, &work); err != nil || work.Proofs == nil {
		return r, false
	}
	text := redact.Cut(plainText(said(work.ProofError)+"\nThe proofs were refused: "+refusal.Error()), api.MaxCompletionProofError)
	work.Proofs, work.ProofError = nil, &text
	body, err := json.Marshal(work)
	if err != nil {
		return r, false // it was read
	}
	r.Body = body
	return r, true
}

// decide sends the report until the server takes or refuses it. It returns the refusal, nil
// where it was taken, and what the server gave in the place of the job, with its leases held.
func (d *delivery) decide(ctx context.Context) (refusal *api.Error, found []claimed, err error) {
	defer d.leases.beginAsking()()
	pause, next := time.Second/4, d.newNext()
	for {
		if d.leaving.Err() != nil || !d.offer.hasEngine() || !d.offer.isTold() {
			next = nil
		}
		sent := sinceBoot()
		var ended *api.Job
		err = d.enrolled(ctx, func() (err error) {
			ended, err = d.send(ctx, next)
			return err
		})
		if api.Decided(err) {
			if ended != nil {
				d.countRefused(d.r.Job, refusedUsage(ended.UsageResults))
			}
			if ended != nil && ended.Next != nil {
				found = d.holdAll(ended.Next.Jobs, sent, said(next.RequestID))
			}
			if err != nil {
				d.Log.Warn("the report was refused: "+err.Error(), "job", d.r.Job, "epoch", d.r.Epoch, "verb", d.r.Verb)
			}
			_ = errors.As(err, &refusal) // nil where it was taken
			return refusal, found, nil
		}
		d.Log.Warn("the report waits for the server: "+err.Error(), "job", d.r.Job, "verb", d.r.Verb)
		if signal.Sleep(ctx, signal.Jitter(pause, 0.3)) != nil {
			return nil, nil, fmt.Errorf("the report stays in the outbox: %w", ctx.Err())
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// send sends the report, and the usage and the lines before it. It returns the job as it is then,
// with what the worker got for the seat, nil where the report was refused.
func (d *delivery) send(ctx context.Context, next *api.NextRequest) (*api.Job, error) {
	for ; len(d.r.Usage) > 0; d.r.Usage = d.r.Usage[1:] { // what is decided is not sent again
		var part api.UsageReport
		if err := json.Unmarshal(d.r.Usage[0], &part); err != nil {
			return nil, err
		}
		refused, err := sendUsage(ctx, d.api, part)
		if err != nil {
			return nil, err
		}
		d.countRefused(d.r.Job, refused)
	}
	for _, raw := range d.r.Logs {
		_, err := call(raw, func(b api.LogBatch) (*api.WriteLogsResponse, error) {
			return d.api.WriteLogsWithResponse(ctx, b)
		})
		if !api.Decided(err) {
			return nil, err
		}
	}
	for _, raw := range d.r.Steps {
		_, err := call(raw, func(b api.StepBatch) (*api.WriteStepsResponse, error) {
			return d.api.WriteStepsWithResponse(ctx, b)
		})
		if !api.Decided(err) {
			return nil, err
		}
	}
	if d.r.Verb == "" {
		return nil, nil
	}
	body, err := api.NewLeaseEnd(d.r.Verb)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(d.r.Body, body); err != nil {
		return nil, err
	}
	end := body.Call()
	*end.Next = next
	return end.Send(ctx, d.api)
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
