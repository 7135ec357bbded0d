// Package signal holds the small tools of code that waits: a wake-up that many
// senders may give at once, a sleep that a context ends, and random spread of times.
package signal

import (
	"context"
	"math/rand/v2"
	"time"
)

// Signal wakes one receiver. Setting it twice before it is received counts once, and
// Set never blocks. Make it with New.
type Signal struct{ c chan struct{} }

// New returns a signal that is not set.
func New() Signal { return Signal{make(chan struct{}, 1)} }

// Set wakes the receiver, now or when it next receives.
func (s Signal) Set() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// C returns the channel that the receiver waits on. Receiving takes the signal back.
func (s Signal) C() <-chan struct{} { return s.c }

// Sleep waits for d, or for the end of ctx, whose error it returns. Where both have
// come the context counts.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err()
}

// Backoff returns how long to wait after failures in a row: first after one, twice as long
// after each further one, and at most longest; nothing after none.
func Backoff(first, longest time.Duration, failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	wait := first
	for n := 1; n < failures && wait < longest; n++ {
		wait *= 2
	}
	return min(wait, longest)
}

// Jitter returns a random time between d*(1-share) and d*(1+share), so that what
// started together does not stay together.
func Jitter(d time.Duration, share float64) time.Duration {
	return time.Duration(float64(d) * (1 + share*(2*rand.Float64()-1)))
}
