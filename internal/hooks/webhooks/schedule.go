package webhooks

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// retries are the waits after tries that failed.
var retries = []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 10 * time.Hour}

// spread is by which share a wait is longer or shorter at random.
const spread = 0.1

// wait returns how long to wait after a try that failed, where so many retries are used; last reports
// that it was the last one.
func wait(used int) (d time.Duration, last bool) {
	if used >= len(retries) {
		return 0, true
	}
	return signal.Jitter(retries[used], spread), false
}
