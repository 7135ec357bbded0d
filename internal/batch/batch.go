package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// maxBatch is how many requests one transaction answers at most.
	maxBatch = 64
	// maxQueued is how many requests of one queue may wait in one workspace.
	maxQueued = 16_384
	// maxRetries is how many requests of one queue run alone at the same time: each holds
	// a connection while it waits for its locks.
	maxRetries = 8
	// A batch of at least lingerAbove items makes the next one wait up to linger for
	// as many more.
	lingerAbove = 8
	linger      = 5 * time.Millisecond
	// timeout bounds the transaction of several requests, which has no caller's context.
	timeout = 15 * time.Second
)

// ErrNothingWritten is what Exec returns, with the items answered, where there is
// nothing to save: the transaction is rolled back, so that nobody waits for a commit.
var ErrNothingWritten = errors.New("batch: nothing was written")

// Transactor opens the transactions of a workspace; *db.DB is one.
type Transactor interface {
	In(ctx context.Context, scope db.Scope, do func(db.Tx) error, options ...db.Option) error
}

// Handler answers the requests of one kind.
type Handler[Req, Res any] struct {
	// Lock takes the locks that a request run alone needs, waiting for whoever has
	// them, in the order in which everybody locks. nil takes none.
	Lock func(ctx context.Context, tx db.Tx, workspace ids.ID, req Req) error
	// Exec answers the items, each by its Res and Err, and waits for no lock: an item whose
	// lock somebody else has is marked with Retry. An error of Exec is the error of all
	// items. done runs after the commit; it may be nil.
	Exec func(ctx context.Context, tx db.Tx, workspace ids.ID, items []*Item[Req, Res]) (done func(), err error)
}

// Item is one request of a batch.
type Item[Req, Res any] struct {
	Ctx context.Context // of the caller, who waits for the answer
	Req Req
	Res Res
	Err error
	// Alone is set where the item is a batch of one, with the locks of Lock.
	Alone bool

	retry    bool
	finished chan struct{}
}

// NewItem returns a request for Flush.
func NewItem[Req, Res any](ctx context.Context, req Req) *Item[Req, Res] {
	return &Item[Req, Res]{Ctx: ctx, Req: req, finished: make(chan struct{})}
}

// Retry marks an item that cannot be answered without waiting for a lock. It runs
// once more, alone.
func (i *Item[Req, Res]) Retry() { i.retry = true }

// Retrying reports whether the item is marked.
func (i *Item[Req, Res]) Retrying() bool { return i.retry }

// Wait returns the answer, once it is there.
func (i *Item[Req, Res]) Wait() (Res, error) {
	<-i.finished
	return i.Res, i.Err
}

// Queue gathers the requests of one kind, by workspace. The zero value is not usable;
// see New.
type Queue[Req, Res any] struct {
	// MinInterval is the shortest time between the beginnings of two batches of a workspace:
	// requests that come one after another cost one transaction in this time.
	MinInterval time.Duration

	db      Transactor
	handler Handler[Req, Res]
	linger  time.Duration
	retries chan struct{}
	began   atomic.Int64 // transactions

	mu      sync.Mutex
	pending map[ids.ID]*pending[Req, Res] // of the workspaces whose batches are being run
}

// pending are the requests of a workspace that wait for its next batch.
type pending[Req, Res any] struct {
	items []*Item[Req, Res]
	// enough is closed once want items wait; nil while nobody lingers for them.
	enough chan struct{}
	want   int
}

// New returns a queue whose requests h answers.
func New[Req, Res any](d Transactor, h Handler[Req, Res]) *Queue[Req, Res] {
	return &Queue[Req, Res]{db: d, handler: h, linger: linger, retries: make(chan struct{}, maxRetries),
		pending: map[ids.ID]*pending[Req, Res]{}}
}

// Transactions returns how many transactions the queue has begun.
func (q *Queue[Req, Res]) Transactions() int64 { return q.began.Load() }

// Do answers a request in a batch with others. If ctx ends before the batch begins, the
// request is not answered; once it has begun, Do waits for the answer, for only the answer
// tells whether something was saved. Fault: Unavailable where too many requests wait.
func (q *Queue[Req, Res]) Do(ctx context.Context, workspace ids.ID, req Req) (Res, error) {
	i := NewItem[Req, Res](ctx, req)
	if !q.add(workspace, i) {
		return i.Res, fault.New(fault.Unavailable, "Too many requests of this kind wait already. Try again in a moment.")
	}
	select {
	case <-i.finished:
	case <-ctx.Done():
		if q.remove(workspace, i) {
			return i.Res, ctx.Err()
		}
	}
	return i.Wait()
}

// Alone answers a request as a batch of one, in the caller's context: Lock, which may wait,
// then Exec.
func (q *Queue[Req, Res]) Alone(ctx context.Context, workspace ids.ID, req Req) (Res, error) {
	i := NewItem[Req, Res](ctx, req)
	q.runAlone(workspace, i)
	return i.Wait()
}

// add appends a request to its workspace's queue, false where that is full.
func (q *Queue[Req, Res]) add(workspace ids.ID, i *Item[Req, Res]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, running := q.pending[workspace]
	if !running {
		p = &pending[Req, Res]{}
		q.pending[workspace] = p
		go q.runBatches(workspace)
	}
	if len(p.items) >= maxQueued {
		return false
	}
	p.items = append(p.items, i)
	if p.enough != nil && len(p.items) >= p.want {
		close(p.enough)
		p.enough = nil
	}
	return true
}

// remove takes a request out of the queue, false where its batch has begun.
func (q *Queue[Req, Res]) remove(workspace ids.ID, i *Item[Req, Res]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, running := q.pending[workspace]
	if !running {
		return false
	}
	n := slices.Index(p.items, i)
	if n < 0 {
		return false
	}
	p.items = slices.Delete(p.items, n, n+1)
	return true
}

// runBatches runs the batches of a workspace until no request waits.
func (q *Queue[Req, Res]) runBatches(workspace ids.ID) {
	for items := q.nextBatch(workspace); items != nil; items = q.nextBatch(workspace) {
		began := time.Now()
		q.Flush(workspace, items)
		if len(items) >= lingerAbove {
			q.lingerFor(workspace, len(items))
		}
		if left := q.MinInterval - time.Since(began); left > 0 {
			<-time.After(left)
		}
	}
}

// lingerFor waits a moment after a large batch for n requests: its callers send their next
// requests one by one, and a batch of the first few costs nearly as much as one of all.
func (q *Queue[Req, Res]) lingerFor(workspace ids.ID, n int) {
	q.mu.Lock()
	p := q.pending[workspace]
	if len(p.items) >= n {
		q.mu.Unlock()
		return
	}
	enough := make(chan struct{})
	p.enough = enough
	p.want = n
	q.mu.Unlock()
	select {
	case <-enough:
	case <-time.After(q.linger):
		q.mu.Lock()
		p.enough = nil
		q.mu.Unlock()
	}
}

func (q *Queue[Req, Res]) nextBatch(workspace ids.ID) []*Item[Req, Res] {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pending[workspace]
	n := min(maxBatch, len(p.items))
	if n == 0 {
		delete(q.pending, workspace)
		return nil
	}
	items := p.items[:n:n]
	p.items = p.items[n:]
	return items
}

// Flush answers requests as one batch. Where the batch fails as a whole, each of its
// requests is run alone, so that one that fails does not fail the others. A batch of which
// nobody knows whether it was saved is never repeated. Flush does not wait for requests
// that run alone.
func (q *Queue[Req, Res]) Flush(workspace ids.ID, items []*Item[Req, Res]) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if len(items) == 1 {
		ctx = items[0].Ctx
	}
	err := q.run(ctx, workspace, items, nil, db.NoWait)
	repeat := err != nil && !errors.Is(err, db.ErrOutcomeUnknown) && (len(items) > 1 || db.IsLockTimeout(err))
	for _, i := range items {
		if repeat || err == nil && i.retry {
			go q.retryAlone(workspace, i)
			continue
		}
		i.finish(err)
	}
}

// retryAlone runs an item alone, once fewer than maxRetries others run alone.
func (q *Queue[Req, Res]) retryAlone(workspace ids.ID, i *Item[Req, Res]) {
	select {
	case q.retries <- struct{}{}:
		defer func() { <-q.retries }()
		q.runAlone(workspace, i)
	case <-i.Ctx.Done():
		i.finish(i.Ctx.Err())
	}
}

// runAlone runs one item in its caller's context, under its locks.
func (q *Queue[Req, Res]) runAlone(workspace ids.ID, i *Item[Req, Res]) {
	var empty Res
	i.Res = empty
	i.Err = nil
	i.retry = false
	i.Alone = true
	err := q.run(i.Ctx, workspace, []*Item[Req, Res]{i}, q.handler.Lock)
	if err == nil && i.retry {
		err = fault.New(fault.Unavailable, "Somebody else is changing the same thing. Try again in a moment.")
	}
	i.finish(err)
}

func (i *Item[Req, Res]) finish(err error) {
	i.Err = cmp.Or(err, i.Err)
	close(i.finished)
}

// run answers items in one transaction. A panic is the error of this batch only.
func (q *Queue[Req, Res]) run(ctx context.Context, workspace ids.ID, items []*Item[Req, Res],
	lock func(context.Context, db.Tx, ids.ID, Req) error, options ...db.Option) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	q.began.Add(1)
	var done func()
	err = q.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		if lock != nil {
			if err := lock(ctx, tx, workspace, items[0].Req); err != nil {
				return err
			}
		}
		done, err = q.handler.Exec(ctx, tx, workspace, items)
		return err
	}, options...)
	if errors.Is(err, ErrNothingWritten) {
		err = nil
	}
	if err == nil && done != nil {
		done()
	}
	return err
}
