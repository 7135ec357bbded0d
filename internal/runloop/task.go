package runloop

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	firstRestart   = 250 * time.Millisecond
	longestRestart = 30 * time.Second
	// healthyAfter is how long a task must have run for its next failure to count as the first.
	healthyAfter = time.Minute
)

// errEnded is the failure of a task that returned nil before its context ended.
var errEnded = errors.New("ended by itself")

// Task runs until its context ends.
type Task struct {
	Name string
	Run  func(ctx context.Context) error
}

// Keep runs the tasks until ctx ends and all of them have returned. A task that
// returns or panics earlier is logged and started again, after waits that
// double from a quarter of a second up to 30 seconds. Keep always returns nil.
func Keep(ctx context.Context, log *slog.Logger, tasks ...Task) error {
	var wg sync.WaitGroup
	for _, t := range tasks {
		wg.Go(func() { t.keep(ctx, log.With("task", t.Name)) })
	}
	wg.Wait()
	return nil
}

func (t Task) keep(ctx context.Context, log *slog.Logger) {
	outcomes := reporter{log: log}
	restart := firstRestart
	for {
		started := time.Now()
		err := callSafely(ctx, t.Run)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) >= healthyAfter {
			restart = firstRestart
			outcomes.note(nil)
		}
		if err == nil {
			err = errEnded
		}
		outcomes.note(err)
		if !wait(ctx, restart+jitter(restart/4), nil) {
			return
		}
		restart = min(2*restart, longestRestart)
	}
}
