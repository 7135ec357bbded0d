package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/api"
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

// push pushes the branch of the report until the origin has it, and reports what
// became of it. One that is refused stays in the worker's mirror, where gc never removes it
// unmerged. The error says that the worker ends before all is done: the next start goes on.
func (d *delivery) push(ctx context.Context) error {
	if d.r.Delivery != nil { // the process before this one was killed before it had reported
		return d.tell(ctx, d.r.Delivery)
	}
	if d.r.Verb != api.VerbComplete && d.tree.IsEmpty() {
		d.Log.Info("nothing is pushed: the attempt added nothing", "job", d.r.Job, "epoch", d.r.Epoch)
		return nil
	}
	away, refused := firstPause, firstRefusedPause
	for {
		pushed, err := d.tree.Push(ctx)
		pause := away
		switch {
		case err == nil && d.tree.IsUnchanged():
			return nil
		case err == nil:
			return d.delivered(ctx, pushed)
		case errors.Is(err, repos.ErrRefused):
			if err = d.tellRefused(ctx, err); err != nil {
				return err
			}
			if time.Since(d.r.At) > longestRefused {
				return nil
			}
			pause, refused = refused, min(2*refused, longestRefusedPause)
		default:
			d.Log.Warn("the branch could not be pushed yet: "+err.Error(), "job", d.r.Job, "branch", d.tree.Branch, "again_in", pause)
			away = min(2*away, longestPushPause)
		}
		if d.leaving.Err() != nil || signal.Sleep(d.leaving, signal.Jitter(pause, 0.3)) != nil || ctx.Err() != nil {
			return errLeaving
		}
	}
}

// delivered reports that the branch is where it belongs. It is written down first: pushed again
// after a crash it could come back after somebody has merged and removed it.
func (d *delivery) delivered(ctx context.Context, pushed bool) (err error) {
	state := api.DeliveryStateLocal
	if pushed {
		state = api.DeliveryStatePushed
		d.Log.Info("pushed "+d.tree.Branch, "job", d.r.Job)
	}
	if d.r.Delivery, err = d.encode(state, ""); err != nil {
		return err
	}
	d.writeDown(d.r)
	return d.tell(ctx, d.r.Delivery)
}

// tellRefused reports in which words the origin refused the branch, unless the server has them
// already: as the state of the attempt, and in the job's thread, where the next attempt reads
// it.
func (d *delivery) tellRefused(ctx context.Context, refusal error) error {
	d.Log.Error("the branch was refused and stays in the mirror: "+refusal.Error(),
		"job", d.r.Job, "branch", d.tree.Branch, "mirror", d.tree.Mirror())
	words := redact.Cut(plainText(repos.RefusalWords(refusal)), api.MaxDeliveryReportDetail)
	if words == d.r.Refusal || d.r.Refusals >= maxRefusals {
		return nil
	}
	body, err := d.encode(api.DeliveryStateRefused, words)
	if err == nil {
		err = d.tell(ctx, body)
	}
	if err == nil {
		err = d.writeRefusal(ctx, refusal)
	}
	if err != nil {
		return err
	}
	d.r.Refusal, d.r.Refusals = words, d.r.Refusals+1
	d.writeDown(d.r)
	return nil
}

// encode encodes what is reported of the branch.
func (d *delivery) encode(state api.DeliveryState, detail string) (json.RawMessage, error) {
	return json.Marshal(api.DeliveryReport{Job: cmp.Or(d.r.ID, d.r.Job), Epoch: d.r.Epoch, State: state, Branch: d.tree.Branch,
		Commit: d.tree.Tip(), Detail: text(detail)})
}

// tell reports what became of the branch, until the server takes or refuses that: a
// server of before knows no such call, and somebody may have deleted the job.
func (d *delivery) tell(ctx context.Context, body json.RawMessage) error {
	for pause := time.Second / 4; ; pause = min(2*pause, 5*time.Second) {
		err := d.enrolled(ctx, func() error {
			_, err := call(body, func(b api.DeliveryReport) (*api.ReportDeliveryResponse, error) {
				return d.api.ReportDeliveryWithResponse(ctx, b)
			})
			return err
		})
		switch {
		case err == nil:
			return nil
		case api.Decided(err):
			d.Log.Warn("what became of the branch is not taken by the server: "+err.Error(), "job", d.r.Job, "epoch", d.r.Epoch)
			return nil
		}
		d.Log.Warn("what became of the branch waits for the server: "+err.Error(), "job", d.r.Job, "epoch", d.r.Epoch)
		if signal.Sleep(ctx, signal.Jitter(pause, 0.3)) != nil {
			return errLeaving
		}
	}
}

// writeRefusal says in the job's thread, whose lease has ended by now, that the origin refused
// its branch. The message is for this agent: the next attempt on the job gets it too.
func (d *delivery) writeRefusal(ctx context.Context, refusal error) error {
	text := fmt.Sprintf("%s was not pushed, and is kept in %s on %s. %v", d.tree.Branch, d.tree.Mirror(), d.Factory, refusal)
	payload, err := json.Marshal(map[string]string{"text": redact.Cut(plainText(text), maxNotice)})
	if err != nil {
		return err
	}
	job := cmp.Or(d.r.ID, d.r.Job)
	_, err = d.api.SendMessageWithResponse(ctx, api.NewMessage{
		Type:    note,
		To:      api.NewMessageAddress{Agent: &d.Name},
		Job:     &job,
		Payload: payload,
	})
	if !api.Decided(err) {
		return err
	}
	if err != nil {
		d.Log.Warn("the refusal could not be told in the job's thread: "+err.Error(), "job", d.r.Job)
	}
	return nil
}
