package agent

import (
	"context"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// Report ends an attempt: one of its pointers is set. It may be stored as JSON.
type Report struct {
	// Boot is the boot of the agent that had the lease.
	Boot     string            `json:"boot"`
	Complete *api.Completion   `json:"complete,omitempty"`
	Fail     *api.Failure      `json:"fail,omitempty"`
	Release  *api.LeaseRelease `json:"release,omitempty"`
	Ask      *api.Question     `json:"ask,omitempty"`

	// replaces is set on the failure that is sent in the place of a report that was refused.
	replaces bool
}

// Outbox keeps reports until the server has decided about them, so that the end of the agent's
// process loses none: the next Run sends them, as the same boot, before it claims.
type Outbox interface {
	// Put stores a report; it is on disk when Put returns.
	Put(r Report) error
	// Remove forgets a report.
	Remove(r Report) error
	// Pending returns the reports that are stored.
	Pending() ([]Report, error)
}

// ending is an error of Work that says how the attempt ends.
type ending struct{ Report }

// Error says which way it is.
func (e *ending) Error() string {
	switch {
	case e.Fail != nil:
		return e.Fail.Error
	case e.Release != nil:
		return e.Release.Reason
	}
	return e.Ask.Question
}

// Fail returns an error that fails the attempt: for good, or with Retryable so that the job is
// tried again. A Kind that is the host's fault, such as rate_limited, is no failure of the job.
func Fail(f api.Failure) error { return &ending{Report{Fail: &f}} }

// Release returns an error that gives the job back, for a reason.
func Release(r api.LeaseRelease) error { return &ending{Report{Release: &r}} }

// Ask returns an error that parks the job with a question; the next attempt has the answer.
func Ask(question string) error { return &ending{Report{Ask: &api.Question{Question: question}}} }

// address fills in which attempt the report is about, and the checkpoint where it has none.
func (r *Report) address(job string, epoch int64, checkpoint api.FreeForm) {
	switch {
	case r.Complete != nil:
		r.Complete.Job, r.Complete.Epoch = job, epoch
	case r.Fail != nil:
		r.Fail.Job, r.Fail.Epoch = job, epoch
	case r.Release != nil:
		r.Release.Job, r.Release.Epoch = job, epoch
		if r.Release.Checkpoint == nil && r.Release.CheckpointBlob == nil {
			r.Release.Checkpoint = checkpoint
		}
	case r.Ask != nil:
		r.Ask.Job, r.Ask.Epoch = job, epoch
		if r.Ask.Checkpoint == nil && r.Ask.CheckpointBlob == nil {
			r.Ask.Checkpoint = checkpoint
		}
	}
}

// send makes the call. The same report gets the same answer however often it is sent.
func (r *Report) send(ctx context.Context, c *api.Client) (err error) {
	switch {
	case r.Complete != nil:
		_, err = c.CompleteJobWithResponse(ctx, *r.Complete)
	case r.Fail != nil:
		_, err = c.FailJobWithResponse(ctx, *r.Fail)
	case r.Release != nil:
		_, err = c.ReleaseLeaseWithResponse(ctx, *r.Release)
	case r.Ask != nil:
		_, err = c.AskQuestionWithResponse(ctx, *r.Ask)
	}
	return err
}

// replace returns the failure to send in the place of a report that was refused for its form:
// without it the lease would run out, and nobody would learn why.
func (r *Report) replace(refusal error) (Report, bool) {
	if r.replaces || !api.Refused(refusal, api.ProblemCodeValidationFailed, api.ProblemCodeMalformed, api.ProblemCodeTooLarge) {
		return Report{}, false
	}
	text := "The server refused the report of this attempt for its form: " + refusal.Error()
	failed := Report{Boot: r.Boot, replaces: true, Fail: &api.Failure{Error: fit(text, api.MaxFailureError), Retryable: new(false)}}
	job, epoch := r.subject()
	failed.address(job, epoch, nil)
	return failed, true
}

// subject returns the attempt that the report is about.
func (r *Report) subject() (job string, epoch int64) {
	switch {
	case r.Complete != nil:
		return r.Complete.Job, r.Complete.Epoch
	case r.Fail != nil:
		return r.Fail.Job, r.Fail.Epoch
	case r.Release != nil:
		return r.Release.Job, r.Release.Epoch
	}
	return r.Ask.Job, r.Ask.Epoch
}

// fit returns a text as the API takes it: UTF-8 without NUL characters, with at most so many
// characters.
func fit(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// deliver sends a report until the server has decided about it or ctx ends.
func (a *agent) deliver(ctx context.Context, r Report) {
	for pause := time.Duration(0); ctx.Err() == nil; {
		err := a.enrolled(ctx, func() error { return r.send(ctx, a.api) })
		if !api.Decided(err) {
			if ctx.Err() == nil {
				a.Log.Warn("a report is sent again: " + err.Error())
			}
			pause = back(ctx, pause)
			continue
		}
		if err != nil {
			a.Log.Warn("a report was refused: " + err.Error())
		}
		if a.Outbox != nil {
			if err := a.Outbox.Remove(r); err != nil {
				a.Log.Error("a report that was taken stays in the outbox: " + err.Error())
			}
		}
		if a.Reported != nil {
			a.Reported(r, err)
		}
		if failed, ok := r.replace(err); ok {
			a.deliver(ctx, failed)
		}
		return
	}
	a.Log.Error("the agent ends before a report was taken")
}
