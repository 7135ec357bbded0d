package worker

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"fleetboard/internal/signal"
	"fleetboard/internal/worker/repos"
)

const (
	// cleanUpEvery is how often a worker removes what nobody needs; firstCleanUp is when it
	// does so for the first time, after what a killed worker left was taken up.
	cleanUpEvery = time.Hour
	firstCleanUp = 10 * time.Second
	// KeepUnused is how long a mirror stays that nobody uses.
	KeepUnused = 30 * 24 * time.Hour
)

// cleanUps removes from time to time what nobody needs any more, until ctx ends.
func (w *Worker) cleanUps(ctx context.Context) {
	for wait := firstCleanUp; signal.Sleep(ctx, signal.Jitter(wait, 0.5)) == nil; wait = cleanUpEvery {
		removed, err := w.Repos.GC(ctx, repos.GCOptions{KeepUnused: KeepUnused, Awaited: w.remembers})
		for _, r := range removed {
			w.Log.Info("removed "+r.What, "why", r.Why)
		}
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("cleaning up failed: " + err.Error())
		}
	}
}

// scratch is the directory of an attempt, by its name: what is there is taken up again after
// a kill.
func (w *Worker) scratch(attempt string) string { return filepath.Join(w.State, "attempts", attempt) }

// remembers reports whether an attempt has not ended.
func (w *Worker) remembers(attempt string) bool {
	_, err := os.Lstat(w.scratch(attempt))
	return err == nil
}
