package edge

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Patience is how long a Probe waits for its answer: a monitor has its own within
// two seconds.
const Patience = 1500 * time.Millisecond

var errNoAnswer = errors.New("there was no answer in time")

// Probe reads what a monitor wants to know. It answers within Patience also where
// the database stands still: it reads in the background, once at a time however many
// want to know, so that it takes one connection from others at most.
type Probe[T any] struct {
	ask   func(context.Context) (T, error)
	fresh time.Duration

	mu   sync.Mutex
	last *asking[T]
}

type asking[T any] struct {
	began, ended time.Time
	done         chan struct{} // closed when value, err and ended are there
	value        T
	err          error
}

// NewProbe returns a probe that calls ask again when its last answer is older than
// fresh. The context of ask ends after Patience.
func NewProbe[T any](fresh time.Duration, ask func(context.Context) (T, error)) *Probe[T] {
	return &Probe[T]{ask: ask, fresh: fresh}
}

// Get gives the answer.
func (p *Probe[T]) Get(ctx context.Context) (T, error) {
	a := p.current()
	ctx, cancel := context.WithDeadline(ctx, a.began.Add(Patience))
	defer cancel()
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	select {
	case <-a.done: // also where it was late for others
		return a.value, a.err
	default:
		var none T
		return none, errNoAnswer
	}
}

// current returns the last call of ask, or a new one where that is too old.
func (p *Probe[T]) current() *asking[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil {
		select {
		case <-p.last.done:
			if time.Since(p.last.ended) < p.fresh {
				return p.last
			}
		default:
			return p.last
		}
	}
	a := &asking[T]{began: time.Now(), done: make(chan struct{})}
	p.last = a
	go func() {
		defer close(a.done)
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		a.value, a.err = p.ask(ctx)
		a.ended = time.Now()
	}()
	return a
}
