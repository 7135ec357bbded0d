package waitlist

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
)

const (
	// MaxWait is how long a claim waits at most.
	MaxWait = 50 * time.Second
	// safetyPoll is how long a waiting claim trusts the wake-ups.
	safetyPoll = 20 * time.Second
	// WatchEvery is how often the lanes that claims wait for are looked at, spread
	// by half either way: the safety poll. It announces a job at its second look.
	WatchEvery = 2 * time.Second
)

// Reason is why a wait ended.
type Reason int

// Why waits end.
const (
	TimedOut Reason = iota // there is nothing to look for
	Recheck                // there may be a job
	JobReady               // a job has just become ready for the one that waited
)

// Waiting is what a claim waits for, as it found things.
type Waiting struct {
	Factory ids.ID
	Lanes   []int64
	Version uint64 // of the lanes, before they were read
	Began   uint64 // Latest before anything was read
	ForSeat bool   // it waits for a seat of its factory, not for a job
}

// Wait sleeps until what a claim waits for has changed since it was read, the safety
// poll is due, or the time is over. It registers first and compares then, so that no
// wake-up can fall between the reading and the wait.
func (w *List) Wait(ctx context.Context, workspace ids.ID, a Waiting, left time.Duration) Reason {
	one := w.add(workspace, a.Factory, a.Lanes, a.ForSeat)
	defer w.remove(one)
	if w.Version(workspace, a.Lanes) != a.Version || w.offeredSince(a.Factory, a.Began) ||
		a.ForSeat && w.seatSince(a.Factory, a.Began) {
		return Recheck
	}
	poll := w.poll(a.ForSeat)
	timer := time.NewTimer(min(left, poll))
	defer timer.Stop()
	select {
	case why := <-one.signal:
		return why
	case <-timer.C:
		if left > poll {
			return Recheck
		}
		return TimedOut
	case <-ctx.Done():
		return TimedOut
	case <-w.closed:
		return TimedOut
	}
}

// Rest waits until it is time for the next look of the watch, false once the list is
// closed.
func (w *List) Rest() bool {
	timer := time.NewTimer(signal.Jitter(w.Every, 0.5))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.closed:
		return false
	}
}

// WaitingLanes gives the lanes that claims wait for, nil where none waits: then the
// watch ends, and the next claim that waits begins another.
func (w *List) WaitingLanes(workspace ids.ID) []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	if ww.watched = len(ww.groups) > 0; !ww.watched {
		return nil
	}
	return slices.AppendSeq([]int64{}, maps.Keys(ww.byLane))
}

// poll returns how long a claim that waits trusts the wake-ups, for a seat or for a job:
// what the watch looks after needs no poll of its own.
func (w *List) poll(forSeat bool) time.Duration {
	if w.Watch != nil && !forSeat {
		return 2 * MaxWait
	}
	return signal.Jitter(w.Poll, 0.5)
}

// Len returns how many claims of a workspace wait and were not woken.
func (w *List) Len(workspace ids.ID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, g := range w.of(workspace).groups {
		n += g.queue.Len()
	}
	for _, g := range w.of(workspace).full {
		n += g.queue.Len()
	}
	return n
}
