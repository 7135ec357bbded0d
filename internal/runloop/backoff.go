package runloop

import "time"

// Waits after failures that follow one another: what failed because its server
// is away is asked again soon, and then not too often.
var backoff = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second}

// Backoff is how long to wait after that many failures in a row: 5, 10, 20 and
// then always 40 seconds; nothing after none.
func Backoff(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	return backoff[min(failures, len(backoff))-1]
}
