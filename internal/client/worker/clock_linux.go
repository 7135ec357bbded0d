package worker

import "golang.org/x/sys/unix"

// sleeplessClock is the one that goes on while the host sleeps; CLOCK_MONOTONIC stops.
const sleeplessClock = unix.CLOCK_BOOTTIME
