package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/worker/outbox"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// firstPause and longestPushPause are between two tries to push a branch to an origin that
	// is away.
	firstPause       = time.Second
	longestPushPause = 5 * time.Minute
	// A branch that the origin refused is pushed again now and then, in case that somebody has
	// mended what it was refused for, until its report is so old.
	firstRefusedPause   = time.Minute
	longestRefusedPause = time.Hour
	longestRefused      = 72 * time.Hour
	// maxNotice is how many characters of a refusal the worker writes to people.
	maxNotice = 500
	// maxRefusals is how often a refusal in other words is reported.
	maxRefusals = 10
)

// errLeaving says that the worker ends before all is done.
var errLeaving = errors.New("the worker ends; the next start goes on with it")

// pushAndTell pushes the branch of a report until the origin has it, and reports what
// became of it. One that is refused stays in the worker's mirror, where gc never removes it
// unmerged. The error says that the worker ends before all is done: the next start goes on.
func (w *Worker) pushAndTell(ctx context.Context, r outbox.Report, tree *repos.Worktree) error {
	if r.Delivery != nil { // the process before this one was killed before it had reported
		return w.tellDelivery(ctx, r, r.Delivery)
	}
	if r.Verb != api.VerbComplete && tree.IsEmpty() {
		w.Log.Info("nothing is pushed: the attempt added nothing", "job", r.Job, "epoch", r.Epoch)
		return nil
	}
	away, refused := firstPause, firstRefusedPause
	for {
		pushed, err := tree.Push(ctx)
		pause := away
		switch {
		case err == nil && tree.IsUnchanged():
			return nil
		case err == nil:
			return w.delivered(ctx, r, tree, pushed)
		case errors.Is(err, repos.ErrRefused):
			if r, err = w.tellRefused(ctx, r, tree, err); err != nil {
				return err
			}
			if time.Since(r.At) > longestRefused {
				return nil
			}
			pause, refused = refused, min(2*refused, longestRefusedPause)
		default:
			w.Log.Warn("the branch could not be pushed yet: "+err.Error(), "job", r.Job, "branch", tree.Branch, "again_in", pause)
			away = min(2*away, longestPushPause)
		}
		if w.leaving.Err() != nil || signal.Sleep(w.leaving, signal.Jitter(pause, 0.3)) != nil || ctx.Err() != nil {
			return errLeaving
		}
	}
}

// delivered reports that a branch is where it belongs. It is written down first: pushed again
// after a crash it could come back after somebody has merged and removed it.
func (w *Worker) delivered(ctx context.Context, r outbox.Report, tree *repos.Worktree, pushed bool) (err error) {
	state := api.DeliveryStateLocal
	if pushed {
		state = api.DeliveryStatePushed
		w.Log.Info("pushed "+tree.Branch, "job", r.Job)
	}
	if r.Delivery, err = encodeDelivery(r, tree, state, ""); err != nil {
		return err
	}
	w.writeDown(r)
	return w.tellDelivery(ctx, r, r.Delivery)
}

// tellRefused reports in which words the origin refused a branch, unless the server has them
// already: as the state of the attempt, and in the job's thread, where the next attempt reads
// it. It returns the report as it is written down then.
func (w *Worker) tellRefused(ctx context.Context, r outbox.Report, tree *repos.Worktree, refusal error) (outbox.Report, error) {
	w.Log.Error("the branch was refused and stays in the mirror: "+refusal.Error(),
		"job", r.Job, "branch", tree.Branch, "mirror", tree.Mirror())
	words := redact.Cut(plainText(repos.RefusalWords(refusal)), api.MaxDeliveryReportDetail)
	if words == r.Refusal || r.Refusals >= maxRefusals {
		return r, nil
	}
	body, err := encodeDelivery(r, tree, api.DeliveryStateRefused, words)
	if err == nil {
		err = w.tellDelivery(ctx, r, body)
	}
	if err == nil {
		err = w.writeRefusal(ctx, r, tree, refusal)
	}
	if err != nil {
		return r, err
	}
	r.Refusal, r.Refusals = words, r.Refusals+1
	w.writeDown(r)
	return r, nil
}

// encodeDelivery encodes what is reported of the branch of a report.
func encodeDelivery(r outbox.Report, tree *repos.Worktree, state api.DeliveryState, detail string) (json.RawMessage, error) {
	return json.Marshal(api.DeliveryReport{Job: cmp.Or(r.ID, r.Job), Epoch: r.Epoch, State: state, Branch: tree.Branch,
		Commit: tree.Tip(), Detail: text(detail)})
}

// tellDelivery reports what became of a branch, until the server takes or refuses that: a
// server of before knows no such call, and somebody may have deleted the job.
func (w *Worker) tellDelivery(ctx context.Context, r outbox.Report, body json.RawMessage) error {
	for pause := time.Second / 4; ; pause = min(2*pause, 5*time.Second) {
		err := w.enrolled(ctx, func() error {
			_, err := call(body, func(b api.DeliveryReport) (*api.ReportDeliveryResponse, error) {
				return w.api.ReportDeliveryWithResponse(ctx, b)
			})
			return err
		})
		switch {
		case err == nil:
			return nil
		case api.Decided(err):
			w.Log.Warn("what became of the branch is not taken by the server: "+err.Error(), "job", r.Job, "epoch", r.Epoch)
			return nil
		}
		w.Log.Warn("what became of the branch waits for the server: "+err.Error(), "job", r.Job, "epoch", r.Epoch)
		if signal.Sleep(ctx, signal.Jitter(pause, 0.3)) != nil {
			return errLeaving
		}
	}
}

// writeRefusal says in the job's thread, whose lease has ended by now, that the origin refused
// its branch. The message is for this agent: the next attempt on the job gets it too.
func (w *Worker) writeRefusal(ctx context.Context, r outbox.Report, tree *repos.Worktree, refusal error) error {
	text := fmt.Sprintf("%s was not pushed, and is kept in %s on %s. %v", tree.Branch, tree.Mirror(), w.Factory, refusal)
	payload, err := json.Marshal(map[string]string{"text": redact.Cut(plainText(text), maxNotice)})
	if err != nil {
		return err
	}
	job := cmp.Or(r.ID, r.Job)
	_, err = w.api.SendMessageWithResponse(ctx, api.NewMessage{
		Type:    note,
		To:      api.NewMessageAddress{Agent: &w.Name},
		Job:     &job,
		Payload: payload,
	})
	if !api.Decided(err) {
		return err
	}
	if err != nil {
		w.Log.Warn("the refusal could not be told in the job's thread: "+err.Error(), "job", r.Job)
	}
	return nil
}
