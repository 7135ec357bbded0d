package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/process"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// ending is how an attempt ends: the call that reports it, without what all have in common.
type ending struct {
	said string // for the worker's own log
	// body is nil where the lease is not ours: nothing is reported.
	body api.LeaseEnd
}

// What is reported of a check that did not pass: maxCheckSaid characters of which it is and how it ended, and the
// last maxCheckOutput bytes of what it printed. Together these are less than the 4,000 bytes that a job keeps of an
// error, so that the last lines, which mostly say what failed, are among them.
const (
	maxCheckSaid   = 150
	maxCheckOutput = 3400
)

// checksFailed returns how an attempt ends whose check did not pass: said says which and how.
func checksFailed(said, printed string, retryable bool) ending {
	return failure("checks_failed", redact.Cut(said, maxCheckSaid)+"\n\n"+printed, retryable)
}

// release gives the job back.
func release(reason string) ending {
	return ending{
		said: "given back: " + reason,
		body: &api.LeaseRelease{Reason: redact.Cut(plainText(reason), api.MaxLeaseReleaseReason)},
	}
}

// failure says that the attempt failed.
func failure(kind, message string, retryable bool) ending {
	if message == "" {
		message = "The attempt failed."
	}
	return ending{
		said: "failed: " + message,
		body: &api.Failure{Kind: &kind, Error: redact.Cut(plainText(message), api.MaxFailureError), Retryable: &retryable},
	}
}

// failed returns what an engine said of its failure.
func failed(r engines.Result) ending {
	f := r.Failure
	if f == nil {
		f = &engines.Failure{Kind: "crash", Message: "The agent program ended without a result.", Retryable: true}
	}
	end := failure(f.Kind, f.Message, f.Retryable)
	if body, ok := end.body.(*api.Failure); ok && f.RetryAfter > 0 {
		seconds := int(f.RetryAfter.Round(time.Second).Seconds())
		body.RetryAfterSeconds = &seconds
	}
	return end
}

// stoppedOr returns how the attempt ends where it was stopped, and otherwise another ending.
func (a *attempt) stoppedOr(other ending) ending {
	if end, stopped := a.stopped(); stopped {
		return end
	}
	return other
}

// stopped returns how the attempt ends where its work was stopped.
func (a *attempt) stopped() (ending, bool) {
	cause, reason := a.lease.ended()
	switch cause {
	case whyFenced:
		return ending{said: "the lease is not ours any more: " + reason}, true
	case whyUnheard:
		return release("The worker did not hear the server for as long as the lease lasts."), true
	case whyCancelled:
		return release("Stopped, since the job was cancelled."), true
	case whyPaused:
		return release("Stopped, since the job was paused."), true
	case whyStopping:
		return release("The worker stops."), true
	case whyTimeout:
		return failure("timeout", fmt.Sprintf("The attempt took longer than %s.", a.w.MaxTime), true), true
	case whyAsked:
		return a.asked()
	}
	return ending{}, false
}

// handIn checks the work and completes the job with it.
func (a *attempt) handIn(ctx context.Context, r engines.Result) ending {
	work := &api.Completion{Summary: text(a.reporter.secret.Cut(strings.TrimSpace(plainText(r.Summary)), api.MaxCompletionSummary))}
	work.Comments = a.answerComments()
	done := ending{said: "done", body: work}
	if a.tree == nil {
		return done
	}
	a.reporter.step("commits its work")
	commit, changed, err := a.tree.Commit(ctx, a.job.Key+": "+a.job.Title)
	if err != nil {
		return a.stoppedOr(failure("other", "The work could not be committed: "+err.Error(), true))
	}
	if said, found := a.leaked(ctx); found {
		return a.stoppedOr(failure("other", said, true))
	}
	a.commit = commit
	a.tellNotes()
	if a.w.Check != "" {
		a.reporter.step("checks: " + a.w.Check)
		var said string
		err := trace(ctx, "check", "checks_failed", func(ctx context.Context) (err error) {
			said, err = a.check(ctx, a.w.Check, a.tree.Dir)
			return err
		})
		if err != nil {
			return a.stoppedOr(checksFailed(fmt.Sprintf("%s: %v", a.w.Check, err), said, true))
		}
	}
	diff, err := a.tree.Diff(ctx)
	if err != nil {
		return a.stoppedOr(failure("other", "The changes could not be read: "+err.Error(), true))
	}
	if end, stopped := a.stopped(); stopped {
		return end
	}
	if changed || commit != a.tree.Base {
		work.Commit, work.Branch, work.DeliveryFollows = &commit, &a.tree.Branch, new(true)
	}
	work.FilesTouched = new(fileNames(diff.Files))
	work.PatchBlob = a.keepPatch(ctx, diff)
	if prove(ctx, a, work); ctx.Err() != nil {
		return a.stoppedOr(release("The worker stops."))
	}
	work.Result = a.result(diff)
	return done
}

// result returns what the review page shows of the work: the changes, whether the check passed,
// and a doubt where the changes are too long to be shown whole.
func (a *attempt) result(d repos.Diff) json.RawMessage {
	said := map[string]any{"files_changed": d.Count, "insertions": d.Added, "deletions": d.Deleted,
		"diff": a.reporter.secret.Text(d.Patch)}
	if a.w.Check != "" {
		said["check: "+a.w.Check] = true
	}
	if d.Truncated {
		said["whole_diff_shown"] = false
	}
	if d.Cut {
		said["whole_diff_stored"] = false
	}
	if len(d.Conflicts) > 0 {
		said["conflict_markers"] = d.Conflicts
	}
	if more := d.ConflictCount - len(d.Conflicts); more > 0 {
		said["conflict_markers_not_named"] = more
	}
	if len(d.Missing) > 0 {
		said["large_files_missing"] = fileNames(d.Missing)
	}
	if more := d.MissingCount - len(d.Missing); more > 0 {
		said["large_files_not_named"] = more
	}
	if more := d.Count - len(d.Files); more > 0 {
		said["files_not_named"] = more
	}
	if len(a.tree.Notes) > 0 {
		said["notes"] = a.reporter.secret.Lines(a.tree.Notes)
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return nil // texts and numbers only
	}
	return raw
}

// check runs a command in a directory, with its lines in the log of the job; it returns
// the end of what it printed, and the error of one that is not passed.
func (a *attempt) check(ctx context.Context, command, dir string, variables ...string) (said string, err error) {
	var printed []byte
	exit, err := process.Run(ctx, process.Spec{Argv: []string{"sh", "-c", command}, Dir: dir,
		Env: append(slices.Clone(a.env), variables...), Grace: engines.Grace,
		Line: func(_ process.Stream, line []byte) {
			a.reporter.log("INFO", "check", strings.ToValidUTF8(string(line), "?"))
			printed = append(append(printed, line...), '\n')
			printed = printed[max(0, len(printed)-maxCheckOutput):]
		}})
	if err == nil && exit.Status != 0 {
		err = fmt.Errorf("it ended with status %d", exit.Status)
	}
	return a.reporter.secret.Text(strings.ToValidUTF8(string(printed), "?")), err
}

// address fills in what all reports have: the lease, and what the next attempt needs. It names
// the job by its id: a report that waits may reach a server that was begun anew, which may have
// another job of that key.
func (a *attempt) address(body api.LeaseEnd) {
	call := body.Call()
	*call.Job, *call.Epoch = a.at.ID, a.lease.epoch
	if call.Checkpoint != nil {
		*call.Checkpoint = a.checkpointNow()
	}
}

// save commits what there is as work in progress, whatever the end was. What cannot be saved
// is said on the job.
func (a *attempt) save(end ending) {
	if _, handedIn := end.body.(*api.Completion); handedIn || a.tree == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	commit, err := a.tree.SaveWIP(ctx, end.said)
	if err != nil {
		said := "The work could not be saved: " + err.Error()
		a.w.Log.Warn(said, "job", a.job.Key)
		a.reporter.log("ERROR", "worktree", said)
		if body, ok := end.body.(*api.Failure); ok {
			body.Error = redact.Cut(strings.TrimSpace(body.Error+"\n\n"+said), api.MaxFailureError)
		}
		return
	}
	a.commit = commit
	a.tellNotes()
}

// failureKind returns the kind of failure that the API has for what kept an attempt from beginning.
func failureKind(err error) string {
	switch {
	case errors.Is(err, errNoEngine):
		return "engine_missing"
	case errors.Is(err, os.ErrPermission):
		return "other"
	}
	return "clone_failed"
}
