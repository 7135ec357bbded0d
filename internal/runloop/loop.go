package runloop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

// defaultTimeout bounds a cycle of a loop without a timeout.
const defaultTimeout = 30 * time.Second

// Loop does something at intervals.
type Loop struct {
	Name string
	// Every is the wait between the end of one cycle and the start of the next.
	// After failures in a row it is 5, 10, 20 and then 40 seconds, if that is longer.
	Every time.Duration
	// Jitter is added to each wait, at random between zero and it, so that
	// processes that started together do not stay together.
	Jitter time.Duration
	// Timeout ends a cycle's context; zero means 30 seconds.
	Timeout time.Duration
	// Kick starts the next cycle at once, except after a failure. It may be nil.
	Kick <-chan struct{}
	// Do is a cycle: bounded work that returns when its context ends.
	Do func(ctx context.Context) error
}

// Run runs the loops until ctx ends and all of them have returned. The first
// cycle of each comes at once. A cycle that fails or panics is logged and the
// loop goes on. Run always returns nil; the result fits an errgroup.
func Run(ctx context.Context, log *slog.Logger, loops ...Loop) error {
	var wg sync.WaitGroup
	for _, l := range loops {
		wg.Go(func() { l.run(ctx, log.With("loop", l.Name)) })
	}
	wg.Wait()
	return nil
}

func (l Loop) run(ctx context.Context, log *slog.Logger) {
	outcomes, cycles := reporter{log: log}, metrics.NewLoop(l.Name)
	for ctx.Err() == nil {
		began := time.Now()
		err := l.cycle(ctx)
		if ctx.Err() != nil {
			return
		}
		cycles.Count(began, err)
		outcomes.note(err)
		kick := l.Kick
		if err != nil {
			kick = nil
		}
		if !wait(ctx, max(l.Every, Backoff(outcomes.failures))+jitter(l.Jitter), kick) {
			return
		}
	}
}

func (l Loop) cycle(ctx context.Context) error {
	timeout := l.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return callSafely(ctx, l.Do)
}

// wait returns false when ctx ended first.
func wait(ctx context.Context, d time.Duration, kick <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-kick:
	case <-timer.C:
	}
	return true
}

func jitter(longest time.Duration) time.Duration {
	if longest <= 0 {
		return 0
	}
	return rand.N(longest)
}

// panicError is a panic as an error.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// callSafely calls fn, and returns its panic as an error.
func callSafely(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return fn(ctx)
}

// reporter logs a failure when it begins or changes, and its end. Errors of a database that
// cannot be reached are one failure, whatever their texts.
type reporter struct {
	log      *slog.Logger
	last     string
	failures int
}

func (r *reporter) note(err error) {
	if err == nil {
		if r.failures > 0 {
			r.log.Info("works again", "failures", r.failures)
		}
		r.last, r.failures = "", 0
		return
	}
	r.failures++
	failure := err.Error()
	if fault.Is(err, fault.Unavailable) {
		failure = string(fault.Unavailable)
	}
	if failure == r.last {
		return
	}
	r.last = failure
	attrs := []any{"error", err}
	var p *panicError
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	r.log.Error("failed", attrs...)
}
