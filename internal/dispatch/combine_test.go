package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

type number = request[int, string]

// runs records what a combiner ran, and holds its first run until it is let go.
type runs struct {
	*combiner[int, string]
	t         *testing.T
	workspace ids.ID
	entered   chan struct{} // the first run has begun
	release   chan struct{}

	mu   sync.Mutex
	seen []string // the numbers of each run, in order, and whether it was patient
	fail func(list []int, patient bool) error
}

func newRuns(t *testing.T) *runs {
	r := &runs{t: t, workspace: ids.New(), entered: make(chan struct{}), release: make(chan struct{})}
	first := true
	r.combiner = newCombiner(func(_ context.Context, _ ids.ID, list []*number, patient bool) error {
		r.mu.Lock()
		var numbers []int
		for _, one := range list {
			numbers = append(numbers, one.in)
			one.out = fmt.Sprint("answer ", one.in)
			one.apart = one.in < 0 && !patient
			if one.in == 13 {
				one.err = fault.New(fault.NotFound, "There is no 13.")
			}
		}
		r.seen = append(r.seen, fmt.Sprint(numbers, patient))
		held, fail := first, r.fail
		first = false
		r.mu.Unlock()
		if held {
			close(r.entered)
			<-r.release
		}
		if fail != nil {
			return fail(numbers, patient)
		}
		return nil
	})
	return r
}

// together sends 1 alone, and the numbers while its run is under way. It gives the
// answers of the numbers.
func (r *runs) together(ctx context.Context, numbers ...int) (answers []string, errs []error) {
	answers, errs = make([]string, len(numbers)), make([]error, len(numbers))
	var all sync.WaitGroup
	all.Go(func() { _, _ = r.do(r.t.Context(), r.workspace, 1) })
	<-r.entered
	for i, n := range numbers {
		all.Go(func() { answers[i], errs[i] = r.do(ctx, r.workspace, n) })
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
		r.combiner.mu.Lock()
		have := len(r.queues[r.workspace].list)
		r.combiner.mu.Unlock()
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
func TestARunAfterACrowdIsGathered(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	r.gathers = time.Hour
	var all sync.WaitGroup
	all.Go(func() { _, _ = r.do(t.Context(), r.workspace, 1) })
	<-r.entered
	send := func(from, waiting int) {
		for i := range crowd {
			all.Go(func() { _, _ = r.do(t.Context(), r.workspace, from+i) })
			if i < waiting {
				r.queued(i + 1)
			}
		}
	}
	send(20, crowd)
	close(r.release)
	all.Wait()
	send(40, crowd-1) // the last one begins the run
	all.Wait()
	if want := []string{"[1] false", "[20 21 22 23 24 25 26 27] false", "[40 41 42 43 44 45 46 47] false"}; !slices.Equal(r.seen, want) {
		t.Errorf("runs %v; want %v", r.seen, want)
	}
}

// Where nobody else comes, the one who does is answered all the same.
func TestOneAloneAfterACrowdIsAnswered(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	if answers, errs := r.together(t.Context(), 2, 3, 4, 5, 6, 7, 8, 9); errors.Join(errs...) != nil || len(answers) != crowd {
		t.Fatal(answers, errs)
	}
	if answer, err := r.do(t.Context(), r.workspace, 99); err != nil || answer != "answer 99" {
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

// One that would have to wait is run alone, with patience.
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
		r.fail = func(list []int, _ bool) error {
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
	r.fail = func(list []int, _ bool) error {
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
	all.Go(func() { _, _ = r.do(t.Context(), r.workspace, 1) })
	<-r.entered
	gone := make(chan error, 1)
	go func() {
		_, err := r.do(ctx, r.workspace, 2)
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

// The queue is bounded: who finds it full is told so at once.
func TestAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	r := newRuns(t)
	var all sync.WaitGroup
	all.Go(func() { _, _ = r.do(t.Context(), r.workspace, 1) })
	<-r.entered
	for range inQueue {
		all.Go(func() { _, _ = r.do(t.Context(), r.workspace, 2) })
	}
	r.queued(inQueue)
	if _, err := r.do(t.Context(), r.workspace, 3); !fault.Is(err, fault.Unavailable) {
		t.Errorf("%v; want unavailable", err)
	}
	if answer, err := r.do(t.Context(), ids.New(), 4); err != nil || answer != "answer 4" {
		t.Errorf("another workspace: %q, %v", answer, err)
	}
	close(r.release)
	all.Wait()
}
