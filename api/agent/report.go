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

// ending is an error of Work that chooses how the attempt ends.
type ending struct{ Report }

// Error returns the error, reason or question of the report.
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

// body returns the body of the call that makes the report; nil where it says nothing.
func (r *Report) body() api.LeaseEnd {
	switch {
	case r.Complete != nil:
		return r.Complete
	case r.Fail != nil:
		return r.Fail
	case r.Release != nil:
		return r.Release
	case r.Ask != nil:
		return r.Ask
	}
	return nil
}

// address sets the attempt that the report is about, and the checkpoint where it has none.
func (r *Report) address(job string, epoch int64, checkpoint api.FreeForm) {
	call := r.body().Call()
	*call.Job = job
	*call.Epoch = epoch
	if call.Checkpoint != nil && *call.Checkpoint == nil && *call.CheckpointBlob == nil {
		*call.Checkpoint = checkpoint
	}
}

// replace returns the failure to send instead of a report that was refused for its form: without it
// the lease would expire, and nobody would learn why.
func (r *Report) replace(refusal error) (Report, bool) {
	if r.replaces || !api.Refused(refusal, api.ProblemCodeValidationFailed, api.ProblemCodeMalformed, api.ProblemCodeTooLarge) {
		return Report{}, false
	}
	text := "The server refused the report of this attempt for its form: " + refusal.Error()
	failed := Report{Boot: r.Boot, replaces: true, Fail: &api.Failure{Error: fit(text, api.MaxFailureError), Retryable: new(false)}}
	refused := r.body().Call()
	failed.address(*refused.Job, *refused.Epoch, nil)
	return failed, true
}

// fit returns a text as the API takes it: UTF-8 without NUL characters, with at most maxLength
// characters.
func fit(text string, maxLength int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
	if runes := []rune(text); len(runes) > maxLength {
		return string(runes[:maxLength])
	}
	return text
}

// deliver sends a report until the server has decided about it or ctx ends.
func (a *agent) deliver(ctx context.Context, r Report) {
	if r.body() == nil {
		a.Log.Error("a report in the outbox does not say how its attempt ended, and stays there")
		return
	}
	for pause := time.Duration(0); ctx.Err() == nil; {
		// The same report gets the same answer however often it is sent.
		err := a.withValidToken(ctx, func() error {
			_, err := r.body().Call().Send(ctx, a.api)
			return err
		})
		if !api.Decided(err) {
			if ctx.Err() == nil {
				a.Log.Warn("a report is sent again: " + err.Error())
			}
			pause = pauseLonger(ctx, pause)
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
