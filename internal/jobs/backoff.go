package jobs

import (
	"time"

	"fleetboard/internal/signal"
)

// Limits of the retry backoff (docs/concepts.md).
const (
	maxBackoff    = 24 * time.Hour
	backoffJitter = 0.2
)

// backOff fills in what a waiting decision waits for.
func (d *Decision) backOff(now time.Time, failures int) {
	if d.After.Status != Waiting {
		return
	}
	until := now.Add(Backoff(d.Before.RetryBackoffSeconds, failures))
	d.After.WaitReason, d.After.NotBefore = WaitRetryBackoff, &until
}

// Backoff is the wait after the given failure (1 is the first): the base in
// seconds, doubled by each failure, at most a day, spread by a fifth either way
// so that jobs that failed together do not return together.
func Backoff(baseSeconds, failures int) time.Duration {
	wait := time.Duration(baseSeconds) * time.Second
	for range failures - 1 {
		if wait >= maxBackoff {
			break
		}
		wait *= 2
	}
	wait = min(wait, maxBackoff)
	return min(signal.Jitter(wait, backoffJitter), maxBackoff)
}
