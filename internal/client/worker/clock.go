//go:build linux || darwin

package worker

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns a time that only grows: it goes on while the host sleeps, and nobody can
// set it.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(sleeplessClock, &t); err != nil {
		panic(err) // every system that Go supports has it
	}
	return time.Duration(t.Nano())
}
