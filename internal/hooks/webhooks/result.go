package webhooks

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
)

const (
	// noteTimeout bounds the note of what tries led to at the end of the process, and endGrace the
	// tries that are under way then.
	noteTimeout = 5 * time.Second
	endGrace    = 3 * time.Second
	// hurryAfter is from when on a receiver that takes a delivery again was away: what waits for a
	// retry is tried at once.
	hurryAfter = time.Minute
)

// result is what a try of a delivery led to.
type result struct {
	due
	outcome
}

// try sends a delivery, and keeps what came of it for the next cycle.
func (l *line) try(from *sender, d due) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.ctx))
	defer cancel()
	defer context.AfterFunc(l.ctx, func() { time.AfterFunc(endGrace, cancel) })()
	o := l.send(ctx, from, d)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = !o.delivered()
	if ctx.Err() != nil { // it was broken off: who sends next tries it
		delete(l.busy, d.id)
		return
	}
	l.ended = append(l.ended, result{d, o})
}

// noteEnded notes what tries have led to since the last time.
func (l *line) noteEnded(ctx context.Context) error {
	l.mu.Lock()
	list := l.ended
	l.ended = nil
	l.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	err := l.note(ctx, list)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.ended = append(list, l.ended...)
		return err
	}
	for _, r := range list {
		delete(l.busy, r.id)
		if !r.delivered() {
			l.from = nil // it may be disabled
		}
	}
	return nil
}

// finish waits for the tries that are under way when the line ends, and notes what they led to. What is not
// noted is sent again.
func (l *line) finish() {
	l.sending.Wait()
	ctx, done := context.WithTimeout(context.WithoutCancel(l.ctx), noteTimeout)
	defer done()
	if err := l.noteEnded(ctx); err != nil {
		l.log.Warn("what deliveries led to was not noted; they are sent again", "webhook", l.id, "deliveries", len(l.ended), "error", err)
	}
}

// note writes down what tries led to, and what follows for the webhook.
func (l *line) note(ctx context.Context, list []result) error {
	disabled := false
	err := l.db.In(ctx, db.Workspace(l.workspace), func(tx db.Tx) error {
		if err := q.WebhookHold(ctx, tx, l.workspace, l.id); err != nil {
			return err
		}
		var taken []result
		for _, r := range list {
			if r.delivered() {
				taken = append(taken, r)
				continue
			}
			ends, err := l.noteFailedTx(ctx, tx, r)
			if err != nil {
				return err
			}
			disabled = disabled || ends
		}
		return l.noteTakenTx(ctx, tx, taken)
	})
	if err == nil && disabled {
		_ = l.published(l.workspace, nil)
	}
	return err
}

// noteTakenTx notes tries that the receiver took.
func (l *line) noteTakenTx(ctx context.Context, tx db.Tx, list []result) error {
	if len(list) == 0 {
		return nil
	}
	if noted, err := takenTx(ctx, tx, l.workspace, list); err != nil || !noted {
		return err
	}
	away, err := q.WebhookSucceeded(ctx, tx, l.workspace, l.id)
	if err != nil || away < hurryAfter.Seconds() {
		return err
	}
	return q.WebhookDeliveryHurry(ctx, tx, l.workspace, l.id)
}

// noteFailedTx notes a try that failed, and reports whether it has disabled the webhook.
func (l *line) noteFailedTx(ctx context.Context, tx db.Tx, r result) (disabled bool, err error) {
	early, err := q.WebhookDeliveryEarly(ctx, tx, l.workspace, r.id)
	if err != nil || len(early) == 0 {
		return false, err
	}
	pause, last := wait(r.retries)
	disabled = !r.once && (r.gone() || last && !early[0])
	state := Pending
	if r.once || disabled {
		state = Failed
	}
	if noted, err := doneTx(ctx, tx, l.workspace, r, state, pause); err != nil || !noted {
		return false, err
	}
	if r.once && !r.gone() {
		return false, nil
	}
	if err := q.WebhookFailed(ctx, tx, l.workspace, l.id); err != nil || !disabled && !r.gone() {
		return false, err
	}
	why := Failing
	if r.gone() {
		why = Gone
	}
	return true, disableTx(ctx, tx, l.workspace, l.id, why)
}
