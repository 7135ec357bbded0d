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
)

// defaultTimeout bounds a cycle that names no timeout of its own.
const defaultTimeout = 30 * time.Second

// Loop does something every now and then.
type Loop struct {
	Name string
	// Every is the wait between the end of one cycle and the start of the next.
	// After cycles that failed it is 5, 10, 20 and then 40 seconds, if that is longer.
	Every time.Duration
	// Jitter is added to each wait, at random between zero and it, so that
	// processes that started together do not stay together.
	Jitter time.Duration
	// Timeout ends a cycle's context; zero means 30 seconds.
	Timeout time.Duration
	// Kick starts the next cycle at once, after one that did not fail; nil means
	// that nothing does.
	Kick <-chan struct{}
	// Do is one cycle: bounded work that returns when its context ends.
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
	report := reporter{log: log}
	for ctx.Err() == nil {
		err := l.cycle(ctx)
		if ctx.Err() != nil {
			return
		}
		report.outcome(err)
		kick := l.Kick
		if err != nil {
			kick = nil
		}
		if !wait(ctx, max(l.Every, Backoff(report.failures))+jitter(l.Jitter), kick) {
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
	return guarded(ctx, l.Do)
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

func jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most)
}

// panicked is a panic that became an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// guarded calls fn and turns its panic into an error.
func guarded(ctx context.Context, fn func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v, debug.Stack()}
		}
	}()
	return fn(ctx)
}

// reporter logs a failure when it begins or changes, and its end. A database that
// is away is one failure, in whatever words it shows.
type reporter struct {
	log      *slog.Logger
	last     string
	failures int
}

func (r *reporter) outcome(err error) {
	if err == nil {
		if r.failures > 0 {
			r.log.Info("works again", "failures", r.failures)
		}
		r.last, r.failures = "", 0
		return
	}
	r.failures++
	what := err.Error()
	if fault.Is(err, fault.Unavailable) {
		what = string(fault.Unavailable)
	}
	if what == r.last {
		return
	}
	r.last = what
	attrs := []any{"error", err}
	var p *panicked
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	r.log.Error("failed", attrs...)
}
