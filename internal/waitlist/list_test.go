package waitlist

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// waiting returns an empty list, and who waits.
func waiting() (*List, tenancy.Principal) {
	return New(), tenancy.Principal{Workspace: ids.New(), Agent: ids.New()}
}

// empty returns a reading of these lanes that found nothing.
func (w *List) empty(who tenancy.Principal, lanes ...int64) Waiting {
	return Waiting{Lanes: lanes, Version: w.Version(who.Workspace, lanes)}
}

// A job that becomes ready between the look and the wait is not missed.
func TestAWakeUpBetweenLookAndWaitIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, who := waiting()
		seen := w.empty(who, 1)
		w.LaneChanged(who.Workspace, 1)
		start := time.Now()
		if w.Wait(t.Context(), who.Workspace, seen, time.Minute) != Recheck || time.Since(start) != 0 {
			t.Errorf("waited %s for what had come already", time.Since(start))
		}
	})
}

// Neither is a seat that comes free between the two; one that came free before the
// look is no news.
func TestASeatFreedBetweenLookAndWaitIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, who := waiting()
		factory := ids.New()
		full := func() Waiting {
			return Waiting{Factory: factory, Began: w.Latest(), ForSeat: true}
		}
		seen := full()
		w.SeatFreed(fleet.SeatTopic(who.Workspace, factory))
		start := time.Now()
		if w.Wait(t.Context(), who.Workspace, seen, time.Minute) != Recheck || time.Since(start) != 0 {
			t.Errorf("waited %s for a seat that was free already", time.Since(start))
		}
		if w.Wait(t.Context(), who.Workspace, full(), time.Second); time.Since(start) != time.Second {
			t.Errorf("woke after %s for a seat that was seen before", time.Since(start))
		}
	})
}

func TestAWaitWakesOnlyForItsLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, who := waiting()
		woke := make(chan Reason, 1)
		go func() { woke <- w.Wait(t.Context(), who.Workspace, w.empty(who, 1, 2), time.Second) }()
		synctest.Wait()
		w.LaneChanged(who.Workspace, 3)
		w.LaneChanged(ids.New(), 1)
		synctest.Wait()
		select {
		case <-woke:
			t.Fatal("another lane, or another workspace, woke it")
		default:
		}
		w.LaneChanged(who.Workspace, 2)
		if <-woke != JobReady {
			t.Error("its own lane did not wake it for a job")
		}
	})
}

// One job wakes one of many; whoever it woke and did not need it hands on.
func TestOneJobWakesOneWaiterAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, who := waiting()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		woke := make(chan Reason, 100)
		for range 100 {
			go func() { woke <- w.Wait(ctx, who.Workspace, w.empty(who, 1), time.Second) }()
		}
		synctest.Wait()
		for want := 1; want <= 3; want++ {
			w.LaneChanged(who.Workspace, 1)
			synctest.Wait()
			if len(woke) != want {
				t.Fatalf("%d are awake after %d jobs", len(woke), want)
			}
		}
		w.NotifyNext(who.Workspace, []int64{1}, FanOut)
		synctest.Wait()
		if len(woke) != 3+FanOut {
			t.Errorf("%d are awake; a success wakes %d more", len(woke), FanOut)
		}
		for _, want := range []Reason{JobReady, JobReady, JobReady, Recheck, Recheck} {
			if why := <-woke; why != want {
				t.Errorf("woken for %d; %d expected", why, want)
			}
		}
	})
}

// A waiter that leaves with a wake-up it did not use gives it to the next.
func TestAnUnusedWakeUpGoesToTheNextInLine(t *testing.T) {
	w, who := waiting()
	first := w.add(who.Workspace, ids.Nil, []int64{1}, false)
	second := w.add(who.Workspace, ids.Nil, []int64{1}, false)
	w.LaneChanged(who.Workspace, 1)
	w.remove(first)
	if len(second.signal) != 1 || <-second.signal != JobReady {
		t.Error("the wake-up went with the one that left")
	}
	w.remove(second)
}

func TestTheSafetyPollLooksAgainWithoutAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, who := waiting()
		start := time.Now()
		why := w.Wait(t.Context(), who.Workspace, w.empty(who, 1), time.Minute)
		if took := time.Since(start); why != Recheck || took < safetyPoll/2 || took > safetyPoll*3/2 {
			t.Errorf("woke with %d after %s; want between half and one and a half of %s", Recheck, took, safetyPoll)
		}
		start = time.Now()
		if w.Wait(t.Context(), who.Workspace, w.empty(who, 1), time.Second) != TimedOut || time.Since(start) != time.Second {
			t.Errorf("a wait of a second ended after %s with another look", time.Since(start))
		}
	})
}

// With a watch behind it a wait for a job trusts the wake-ups to its end; one for a
// seat does not.
func TestOneWatchStandsForThePollsOfAll(t *testing.T) {
	w := New()
	w.Watch = func(ids.ID) {}
	if got := w.poll(false); got <= MaxWait {
		t.Errorf("a wait for a job is interrupted after %s", got)
	}
	if got := w.poll(true); got > safetyPoll*3/2 {
		t.Errorf("a wait for a seat looks again after %s", got)
	}
}

// The watch runs while somebody waits for a job, once, and ends with the last.
func TestTheWatchRunsWhileSomebodyWaits(t *testing.T) {
	w, workspace := New(), ids.New()
	began := make(chan ids.ID, 3)
	w.Watch = func(workspace ids.ID) { began <- workspace }
	first, second := w.add(workspace, ids.Nil, []int64{1}, false), w.add(workspace, ids.Nil, []int64{2, 3}, false)
	<-began
	if lanes := w.WaitingLanes(workspace); len(lanes) != 3 {
		t.Errorf("lanes %v are watched", lanes)
	}
	w.remove(first)
	if lanes := w.WaitingLanes(workspace); len(lanes) != 2 {
		t.Errorf("lanes %v are watched after one left", lanes)
	}
	w.remove(second)
	if lanes := w.WaitingLanes(workspace); lanes != nil {
		t.Errorf("lanes %v are watched for nobody", lanes)
	}
	w.remove(w.add(workspace, ids.New(), []int64{1}, true))
	w.remove(w.add(workspace, ids.Nil, []int64{1}, false))
	if <-began; len(began) > 0 {
		t.Error("more than one watch runs, or one for a seat")
	}
}

// The longest waiting is next, whichever other lanes it serves; who waits for a
// seat, or serves other lanes, is passed over.
func TestALaneWakesTheLongestWaiting(t *testing.T) {
	w, workspace := New(), ids.New()
	full := w.add(workspace, ids.New(), []int64{1}, true)
	other := w.add(workspace, ids.Nil, []int64{2}, false)
	line := []*waiter{w.add(workspace, ids.Nil, []int64{1, 2}, false), w.add(workspace, ids.Nil, []int64{1}, false),
		w.add(workspace, ids.Nil, []int64{1, 3}, false), w.add(workspace, ids.Nil, []int64{1, 2}, false)}
	for i := range line {
		w.LaneChanged(workspace, 1)
		for k, one := range line {
			if (len(one.signal) > 0) != (k <= i) {
				t.Errorf("after %d jobs the waiter %d is woken: %t", i+1, k, len(one.signal) > 0)
			}
		}
	}
	if len(full.signal)+len(other.signal) > 0 {
		t.Error("one that cannot take the job was woken")
	}
	for _, one := range append(line, full, other) {
		w.remove(one)
	}
	if ww := w.of(workspace); len(ww.groups)+len(ww.byLane)+len(ww.full) > 0 {
		t.Errorf("%d groups, %d lanes and %d factories are kept for nobody", len(ww.groups), len(ww.byLane), len(ww.full))
	}
}
