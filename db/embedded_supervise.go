package db

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// superviseEvery is how often one looks whether the server lives, by its lock.
const superviseEvery = 200 * time.Millisecond

// Supervise starts the server again whenever its process has ended, until ctx
// ends; then it returns nil. Any other return is a start that failed: call it
// again after a while. The address of the server stays the same. Of the processes
// that share a server one starts it and the others find it running. Supervise
// must have returned before Stop is called.
func (e *Embedded) Supervise(ctx context.Context) error {
	for signal.Sleep(ctx, superviseEvery) == nil {
		if e.running(ctx) {
			continue
		}
		if err := e.revive(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (e *Embedded) revive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := takeLock(ctx, e.lock); err != nil {
		return fmt.Errorf("waiting to start the embedded PostgreSQL: %w", err)
	}
	defer unlockFile(e.lock)
	was := e.pid
	if err := e.bring(ctx); err != nil {
		return fmt.Errorf("starting the embedded PostgreSQL again: %w", err)
	}
	e.log.WarnContext(ctx, "PostgreSQL had ended and runs again", "before", was, "pid", e.pid)
	return nil
}
