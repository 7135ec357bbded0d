package worker

import (
	"context"
	"errors"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// claimWait is how long a claim waits for a job, in seconds.
	claimWait = 25
	// longestPause is between two claims that fail.
	longestPause = 15 * time.Second
)

// claims claims jobs for all seats by one call at a time, and starts an attempt on each,
// until ctx ends. The error says why the worker can never claim again.
func (w *Worker) claims(ctx, background context.Context) error {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		n := w.Seats - w.leases.seated()
		if n <= 0 {
			select {
			case <-w.freed.C():
			case <-ctx.Done():
			}
			continue
		}
		if !w.offer.hasEngine() {
			w.awaitEngine(ctx)
			continue
		}
		found, err := w.claimOffered(ctx, n)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			pause = 0
		case api.AgentEnded(err):
			return err
		default:
			pause = min(max(2*pause, time.Second/4), longestPause)
			w.Log.Warn("claiming failed: "+err.Error(), "again_in", pause)
			_ = signal.Sleep(ctx, signal.Jitter(pause, 0.3)) // the loop looks at ctx
		}
		for _, j := range found {
			w.start(background, j, false)
		}
	}
	return nil
}

// awaitEngine waits until an engine may work again, and says so.
func (w *Worker) awaitEngine(ctx context.Context) {
	w.Log.Warn(w.offer.explainIdle())
	w.beatNow.Set()
	for ctx.Err() == nil && !w.offer.hasEngine() {
		select {
		case <-w.freed.C():
		case <-ctx.Done():
		}
	}
}

// claimOffered claims up to n jobs once the server knows what is offered now, and one
// where that is to show whether a part works again.
func (w *Worker) claimOffered(ctx context.Context, n int) ([]claimed, error) {
	if err := w.tellOffer(ctx); err != nil {
		return nil, err
	}
	if w.offer.OneOnly() {
		n = 1
	}
	return w.claim(ctx, n)
}

// claim claims up to n jobs. A call that got no answer is sent again under its id, which
// gives the same leases.
func (w *Worker) claim(ctx context.Context, n int) (found []claimed, err error) {
	defer w.leases.beginAsking()()
	id, wait, ttl := random(), claimWait, int(w.Lease.Seconds())
	body := api.ClaimRequest{Max: &n, WaitSeconds: &wait, TTLSeconds: &ttl, RequestID: &id, SessionKey: text(w.Factory)}
	// A lease is reckoned from the call that brings it: what waited as long as a short one
	// lasts would bring it at its end.
	wait = min(wait, ttl/3)
	for range 5 {
		sent := sinceBoot()
		var answer *api.ClaimJobsResponse
		err = w.enrolled(ctx, func() (err error) {
			answer, err = w.api.ClaimJobsWithResponse(ctx, body)
			return err
		})
		if err == nil {
			return w.take(answer, sent, id), nil
		}
		var away *api.Unreachable
		if !errors.As(err, &away) || signal.Sleep(ctx, time.Second) != nil {
			return nil, err
		}
	}
	return nil, err
}

// claimed is a job that was claimed, by the request with an id, and its lease.
type claimed struct {
	api.Job
	request string
	lease   *lease
}

// take holds the leases of a claim's answer. The claim was sent earlier than the lease
// began, so that it lasts longer than is reckoned here; a heartbeat says how long.
func (w *Worker) take(answer *api.ClaimJobsResponse, sent time.Duration, request string) []claimed {
	if answer.JSON200 == nil {
		return nil
	}
	return w.holdAll(answer.JSON200.Jobs, sent, request)
}

// holdAll holds the leases of jobs that a call has given which was sent at a time, with the
// id of its request.
func (w *Worker) holdAll(list []api.Job, sent time.Duration, request string) []claimed {
	var found []claimed
	for _, j := range list {
		l := newLease(j.Key, j.Lease.Epoch, sent+time.Duration(j.Lease.TTLSeconds)*time.Second)
		if w.leases.hold(l) {
			found = append(found, claimed{Job: j, request: request, lease: l})
		}
	}
	w.beatNow.Set()
	return found
}

// newNext returns what a report requests in the place of its own job: another one.
func (w *Worker) newNext() *api.NextRequest {
	id, ttl := random(), int(w.Lease.Seconds())
	return &api.NextRequest{RequestID: &id, TTLSeconds: &ttl}
}
