package worker

import (
	"context"

	"github.com/fleetboard/fleetboard/api"
)

// looksAtOnce is how many pull requests a worker looks at, or merges, at the same time. How
// many it follows is bounded by the server.
const looksAtOnce = 4

// enterLook waits until the worker may look at one more pull request.
func (w *Worker) enterLook(ctx context.Context) (leave func(), err error) {
	select {
	case w.looks <- struct{}{}:
		return func() { <-w.looks }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leaveSeat reports that the attempt waits for its pull request, so that its seat is
// free for another job. Where the server does not take it, the attempt keeps its seat until it
// is called again.
func (f *following) leaveSeat(ctx context.Context) {
	l, pull := f.a.lease, f.pull()
	if l.follows.Load() {
		return
	}
	_, err := f.a.w.api.FollowPullRequestWithResponse(ctx, api.FollowRequest{Job: l.job, Epoch: l.epoch, URL: pull.URL,
		Number: pull.Number, Branch: pull.Branch})
	if err != nil {
		f.a.w.Log.Info("a pull request that is waited for keeps its seat: "+err.Error(), "job", l.job, "url", pull.URL)
		return
	}
	l.follows.Store(true)
	f.a.w.freed.Set()
}
