package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

const (
	// together is how many requests one transaction answers at most.
	together = 64
	// inQueue is how many requests of one kind may wait in one workspace.
	inQueue = 16_384
	// beatPace is how far apart the runs of a workspace's heartbeats are at least: no
	// agent waits for its answer, and each run is a transaction.
	beatPace = 20 * time.Millisecond
	// crowd is how many requests a run has at least after which as many more are
	// gathered, for gatherFor at most.
	crowd     = 8
	gatherFor = 5 * time.Millisecond
	// runTimeout bounds the transaction of many requests; it is nobody's own.
	runTimeout = 15 * time.Second
)

// scope is the transaction of a run: only one with patience waits for locks.
func (s *Service) scope(patient bool) func(context.Context, ids.ID, func(db.Tx) error) error {
	if patient {
		return s.db.InWorkspace
	}
	return s.db.InWorkspaceHurried
}

// request is one call among those that are answered together.
type request[In, Out any] struct {
	ctx context.Context //nolint:containedctx // the caller's, who waits for the answer
	in  In
	out Out
	err error
	// apart is set by a run that cannot answer the request without waiting for
	// somebody else's lock: it is answered alone then.
	apart bool
	done  chan struct{}
}

// combiner answers the requests of one kind in a workspace together: those that
// arrive while a run is under way form the next one. A request that comes alone
// is answered at once; after a run of many, the next one is gathered for a moment.
type combiner[In, Out any] struct {
	// run answers the requests in one transaction, each by its out and err. Unless
	// it is patient it waits for nobody's lock: a request that would make it wait is
	// set apart. What run returns is an error of all of them.
	run func(ctx context.Context, workspace ids.ID, list []*request[In, Out], patient bool) error
	// pace is how far apart the beginnings of two runs of one workspace are at least.
	// The first request after a quiet time waits for nothing; those that come one
	// after another cost one transaction in this time.
	pace time.Duration
	// gathers is how long a run that follows one of many waits for as many again.
	gathers time.Duration

	mu     sync.Mutex
	queues map[ids.ID]*queue[In, Out] // of the workspaces where a run is under way
}

// queue is what waits in a workspace for its next run.
type queue[In, Out any] struct {
	list []*request[In, Out]
	// enough is closed once as many wait as want says; nil while nobody gathers them.
	enough chan struct{}
	want   int
}

func newCombiner[In, Out any](run func(context.Context, ids.ID, []*request[In, Out], bool) error) *combiner[In, Out] {
	return &combiner[In, Out]{run: run, gathers: gatherFor, queues: map[ids.ID]*queue[In, Out]{}}
}

// do gives the answer to one request. It is not answered any more once ctx has
// ended before its run began; afterwards do waits for the answer, for only that
// says what became of it. Fault: Unavailable where too many wait.
func (c *combiner[In, Out]) do(ctx context.Context, workspace ids.ID, in In) (Out, error) {
	r := &request[In, Out]{ctx: ctx, in: in, done: make(chan struct{})}
	if !c.enter(workspace, r) {
		return r.out, fault.New(fault.Unavailable, "Too many requests of this kind wait already. Try again in a moment.")
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if c.leave(workspace, r) {
			return r.out, ctx.Err()
		}
		<-r.done
	}
	return r.out, r.err
}

// enter puts a request into its queue, false where that is full.
func (c *combiner[In, Out]) enter(workspace ids.ID, r *request[In, Out]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, busy := c.queues[workspace]
	if !busy {
		q = &queue[In, Out]{}
		c.queues[workspace] = q
		go c.work(workspace)
	}
	if len(q.list) >= inQueue {
		return false
	}
	q.list = append(q.list, r)
	if q.enough != nil && len(q.list) >= q.want {
		close(q.enough)
		q.enough = nil
	}
	return true
}

// leave takes a request out of its queue, false where its run has begun.
func (c *combiner[In, Out]) leave(workspace ids.ID, r *request[In, Out]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, busy := c.queues[workspace]
	if !busy {
		return false
	}
	for i, one := range q.list {
		if one == r {
			q.list = append(q.list[:i:i], q.list[i+1:]...)
			return true
		}
	}
	return false
}

// work runs what is queued until nothing is.
func (c *combiner[In, Out]) work(workspace ids.ID) {
	for list := c.next(workspace); list != nil; list = c.next(workspace) {
		began := time.Now()
		c.answer(workspace, list)
		if len(list) >= crowd {
			c.gather(workspace, len(list))
		}
		if left := c.pace - time.Since(began); left > 0 {
			<-time.After(left)
		}
	}
}

// gather waits a moment after a run of many for as many again: they come back one
// by one, and a run of the first of them costs nearly as much as one of all.
func (c *combiner[In, Out]) gather(workspace ids.ID, n int) {
	c.mu.Lock()
	q := c.queues[workspace]
	if len(q.list) >= n {
		c.mu.Unlock()
		return
	}
	enough := make(chan struct{})
	q.enough, q.want = enough, n
	c.mu.Unlock()
	select {
	case <-enough:
	case <-time.After(c.gathers):
		c.mu.Lock()
		q.enough = nil
		c.mu.Unlock()
	}
}

func (c *combiner[In, Out]) next(workspace ids.ID) []*request[In, Out] {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[workspace]
	n := min(together, len(q.list))
	if n == 0 {
		delete(c.queues, workspace)
		return nil
	}
	list := q.list[:n:n]
	q.list = q.list[n:]
	return list
}

// answer runs the requests together, in haste. Where that fails for all of them,
// each is run alone: the fault of one is not the others', and who waits for a lock
// does so in the time of its own caller. A run of which nobody knows whether it was
// saved is never repeated.
func (c *combiner[In, Out]) answer(workspace ids.ID, list []*request[In, Out]) {
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	if len(list) == 1 {
		ctx = list[0].ctx
	}
	err := c.guarded(ctx, workspace, list, false)
	cancel()
	again := err != nil && !errors.Is(err, db.ErrOutcomeUnknown) && (len(list) > 1 || db.IsLockTimeout(err))
	for _, r := range list {
		if again || err == nil && r.apart {
			go c.alone(workspace, r)
			continue
		}
		r.err = cmp.Or(err, r.err)
		close(r.done)
	}
}

// alone runs one request in its own context, with patience.
func (c *combiner[In, Out]) alone(workspace ids.ID, r *request[In, Out]) {
	defer close(r.done)
	var none Out
	r.out, r.err, r.apart = none, nil, false
	if err := c.guarded(r.ctx, workspace, []*request[In, Out]{r}, true); err != nil {
		r.err = err
	}
}

// guarded is run; a panic is the error of this run only.
func (c *combiner[In, Out]) guarded(ctx context.Context, workspace ids.ID, list []*request[In, Out], patient bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.run(ctx, workspace, list, patient)
}
