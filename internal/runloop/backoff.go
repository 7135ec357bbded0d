package runloop

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
)

// Backoff returns how long to wait after that many failures in a row: a server that cannot be
// reached is tried again soon, and then not too often.
func Backoff(failures int) time.Duration {
	return signal.Backoff(5*time.Second, 40*time.Second, failures)
}
