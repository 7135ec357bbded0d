package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

type number = Item[int, string]

// noDB opens transactions of nothing.
type noDB struct{}

func (noDB) In(_ context.Context, _ db.Scope, do func(db.Tx) error, _ ...db.Option) error {
	return do(nil)
}

// runs records what a queue ran, and holds its first batch until it is let go.
type runs struct {
	*Queue[int, string]
	t         *testing.T
	workspace ids.ID
	entered   chan struct{} // the first batch has begun
	release   chan struct{}

	mu   sync.Mutex
	seen []string // the numbers of each batch, in order, and whether it was alone
	lock func(ctx context.Context, n int) error
	fail func(list []int) error
}

func newRuns(t *testing.T) *runs {
	r := &runs{t: t, workspace: ids.New(), entered: make(chan struct{}), release: make(chan struct{})}
	first := true
	r.Queue = New(noDB{}, Handler[int, string]{Lock: func(ctx context.Context, _ db.Tx, _ ids.ID, n int) error {
		if r.lock == nil {
			return nil
		}
		return r.lock(ctx, n)
	}, Exec: func(_ context.Context, _ db.Tx, _ ids.ID, list []*number) (func(), error) {
		r.mu.Lock()
		var numbers []int
		for _, one := range list {
			numbers = append(numbers, one.Req)
			one.Res = fmt.Sprint("answer ", one.Req)
			if one.Req < 0 && !one.Alone || one.Req < -100 {
				one.Retry()
			}
			if one.Req == 13 {
				one.Err = fault.New(fault.NotFound, "There is no 13.")
			}
		}
		r.seen = append(r.seen, fmt.Sprint(numbers, list[0].Alone))
		held, fail := first, r.fail
		first = false
		r.mu.Unlock()
		if held {
			close(r.entered)
			<-r.release
		}
		if fail != nil {
			return nil, fail(numbers)
		}
		return nil, nil
	}})
	return r
}

// together sends 1 alone, and the numbers while its run is under way. It gives the
// answers of the numbers.
func (r *runs) together(ctx context.Context, numbers ...int) (answers []string, errs []error) {
	answers, errs = make([]string, len(numbers)), make([]error, len(numbers))
	var all sync.WaitGroup
	all.Go(func() { _, _ = r.Do(r.t.Context(), r.workspace, 1) })
	<-r.entered
	for i, n := range numbers {
		all.Go(func() { answers[i], errs[i] = r.Do(ctx, r.workspace, n) })
		r.queued(i + 1)
	}
	close(r.release)
	all.Wait()
	return answers, errs
}

// queued waits until so many requests wait.
func (r *runs) queued(n int) {
	for {
		r.mu.Lock()
		r.Queue.mu.Lock()
		have := len(r.pending[r.workspace].items)
		r.Queue.mu.Unlock()
		r.mu.Unlock()
		if have == n {
			return
		}
	}
}

func TestRequestsThatArriveDuringARunFormTheNext(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	answers, errs := r.together(t.Context(), 2, 3, 4)
	if !slices.Equal(answers, []string{"answer 2", "answer 3", "answer 4"}) || errors.Join(errs...) != nil {
		t.Errorf("answers %v, errors %v", answers, errs)
	}
	if want := []string{"[1] false", "[2 3 4] false"}; !slices.Equal(r.seen, want) {
		t.Errorf("runs %v; want %v", r.seen, want)
	}
}

// After a run of many the next one is not that of the first who comes: it waits for
// as many again, but not for long.
func TestABatchAfterALargeOneIsGathered(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	r.linger = time.Hour
	var all sync.WaitGroup
	all.Go(func() { _, _ = r.Do(t.Context(), r.workspace, 1) })
	<-r.entered
	send := func(from, waiting int) {
		for i := range lingerAbove {
			all.Go(func() { _, _ = r.Do(t.Context(), r.workspace, from+i) })
			if i < waiting {
				r.queued(i + 1)
			}
		}
	}
	send(20, lingerAbove)
	close(r.release)
	all.Wait()
	send(40, lingerAbove-1) // the last one begins the run
	all.Wait()
	if want := []string{"[1] false", "[20 21 22 23 24 25 26 27] false", "[40 41 42 43 44 45 46 47] false"}; !slices.Equal(r.seen, want) {
		t.Errorf("runs %v; want %v", r.seen, want)
	}
}

// Where nobody else comes, the one who does is answered all the same.
func TestOneAloneAfterALargeBatchIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	if answers, errs := r.together(t.Context(), 2, 3, 4, 5, 6, 7, 8, 9); errors.Join(errs...) != nil || len(answers) != lingerAbove {
		t.Fatal(answers, errs)
	}
	if answer, err := r.Do(t.Context(), r.workspace, 99); err != nil || answer != "answer 99" {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestOneRefusalIsNotTheNeighbours(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	_, errs := r.together(t.Context(), 2, 13, 4)
	if errs[0] != nil || !fault.Is(errs[1], fault.NotFound) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
}

// One that would have to wait for a lock is run alone, after its locks were taken.
func TestARequestThatHasToWaitWaitsAlone(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	answers, errs := r.together(t.Context(), 2, -3, 4)
	if !slices.Equal(answers, []string{"answer 2", "answer -3", "answer 4"}) || errors.Join(errs...) != nil {
		t.Errorf("answers %v, errors %v", answers, errs)
	}
	if !slices.Contains(r.seen, "[-3] true") || slices.Contains(r.seen, "[2] true") {
		t.Errorf("runs %v", r.seen)
	}
}

// What fails a whole run is found out by running each alone: also a panic.
func TestARunThatFailsIsRunOneByOne(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"error": nil, "panic": func() { panic("broken") }} {
		r := newRuns(t)
		broken := errors.New("three is broken")
		r.fail = func(list []int) error {
			if !slices.Contains(list, 3) {
				return nil
			}
			if fail != nil {
				fail()
			}
			return broken
		}
		answers, errs := r.together(t.Context(), 2, 3, 4)
		if errs[0] != nil || errs[1] == nil || errs[2] != nil || answers[0] != "answer 2" || answers[2] != "answer 4" {
			t.Errorf("%s: answers %v, errors %v", name, answers, errs)
		}
	}
}

// A run that may have been saved is not repeated for anybody.
func TestARunOfUnknownOutcomeIsNotRepeated(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	r.fail = func(list []int) error {
		if len(list) > 1 {
			return db.ErrOutcomeUnknown
		}
		return nil
	}
	_, errs := r.together(t.Context(), 2, 3)
	if !errors.Is(errs[0], db.ErrOutcomeUnknown) || !errors.Is(errs[1], db.ErrOutcomeUnknown) || len(r.seen) != 2 {
		t.Errorf("errors %v, runs %v", errs, r.seen)
	}
}

// Who goes away before the run is not in it.
func TestWhoWentAwayIsNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _, _ = r.Do(t.Context(), r.workspace, 1) })
	<-r.entered
	gone := make(chan error, 1)
	go func() {
		_, err := r.Do(ctx, r.workspace, 2)
		gone <- err
	}()
	r.queued(1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want cancelled", err)
	}
	close(r.release)
	all.Wait()
	if len(r.seen) != 1 {
		t.Errorf("runs %v; want only the first", r.seen)
	}
}

// The queue is bounded: who finds it full is refused at once.
func TestAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	var all sync.WaitGroup
	all.Go(func() { _, _ = r.Do(t.Context(), r.workspace, 1) })
	<-r.entered
	for range maxQueued {
		all.Go(func() { _, _ = r.Do(t.Context(), r.workspace, 2) })
	}
	r.queued(maxQueued)
	if _, err := r.Do(t.Context(), r.workspace, 3); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v; want unavailable", err)
	}
	if answer, err := r.Do(t.Context(), ids.New(), 4); err != nil || answer != "answer 4" {
		t.Errorf("another workspace: %q, %v", answer, err)
	}
	close(r.release)
	all.Wait()
}

// One that still would have to wait after its locks were taken is refused, not tried
// for ever.
func TestASecondRetryIsUnavailable(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	_, errs := r.together(t.Context(), 2, -101, 4)
	if errs[0] != nil || !fault.Is(errs[1], fault.Unavailable) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	if want := []string{"[1] false", "[2 -101 4] false", "[-101] true"}; !slices.Equal(r.seen, want) {
		t.Errorf("batches %v; want %v", r.seen, want)
	}
}

// However many of a batch have to wait for locks, few do so at the same time; the
// others of the batch are answered meanwhile, and who goes away waits no longer.
func TestFewRequestsWaitForLocksAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	var waiting, most atomic.Int64
	var once sync.Once
	full, free := make(chan struct{}), make(chan struct{})
	r.lock = func(context.Context, int) error {
		n := waiting.Add(1)
		defer waiting.Add(-1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		if n == maxRetries {
			once.Do(func() { close(full) })
		}
		<-free
		return nil
	}
	close(r.release)
	items := make([]*number, maxBatch)
	gone, leave := context.WithCancel(t.Context())
	for i := range items {
		ctx := t.Context()
		if i == 2 {
			ctx = gone
		}
		items[i] = NewItem[int, string](ctx, -1-i)
	}
	items[0].Req = 1
	leave()
	r.Flush(r.workspace, items)
	<-full
	if _, err := items[0].Wait(); err != nil {
		t.Error(err)
	}
	close(free)
	for i, one := range items[1:] {
		answer, err := one.Wait()
		if i == 1 && errors.Is(err, context.Canceled) {
			continue
		}
		if err != nil || answer != fmt.Sprint("answer ", -2-i) {
			t.Errorf("%d: %q, %v", i, answer, err)
		}
	}
	if most.Load() > maxRetries {
		t.Errorf("%d waited at the same time; want at most %d", most.Load(), maxRetries)
	}
}

// A batch that wrote nothing is answered, and what follows a commit is done.
func TestABatchThatWroteNothingIsAnswered(t *testing.T) {
	t.Parallel()
	done := false
	q := New(noDB{}, Handler[int, int]{Exec: func(_ context.Context, _ db.Tx, _ ids.ID, list []*Item[int, int]) (func(), error) {
		list[0].Res = 7
		return func() { done = true }, ErrNothingWritten
	}})
	if got, err := q.Do(t.Context(), ids.New(), 1); got != 7 || err != nil || !done {
		t.Errorf("%d, %v; done: %t", got, err, done)
	}
}

// BenchmarkQueue is what it costs to answer calls in batches, where a batch does
// nothing: no database, no work.
func BenchmarkQueue(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			var next atomic.Int64
			q := New(noDB{}, Handler[int, int]{Exec: func(context.Context, db.Tx, ids.ID, []*Item[int, int]) (func(), error) { return nil, nil }})
			workspace := ids.New()
			var group errgroup.Group
			b.ReportAllocs()
			b.ResetTimer()
			for range callers {
				group.Go(func() error {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := q.Do(b.Context(), workspace, int(i)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(q.Transactions())/float64(b.N), "tx/call")
		})
	}
}
