package worker

import (
	"context"
	"time"

	"fleetboard/internal/signal"
	"fleetboard/internal/worker/repos"
)

const (
	// cleanUpEvery is how often a worker removes what nobody needs.
	cleanUpEvery = time.Hour
	// KeepUnused is how long a mirror stays that nobody uses.
	KeepUnused = 30 * 24 * time.Hour
)

// cleanUps removes from time to time what nobody needs any more, until ctx ends.
func (w *Worker) cleanUps(ctx context.Context) {
	for signal.Sleep(ctx, signal.Jitter(cleanUpEvery, 0.5)) == nil {
		removed, err := w.Repos.GC(ctx, repos.GCOptions{KeepUnused: KeepUnused})
		for _, r := range removed {
			w.Log.Info("removed "+r.What, "why", r.Why)
		}
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("cleaning up failed: " + err.Error())
		}
	}
}
