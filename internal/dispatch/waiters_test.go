package dispatch

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// waiting is a service of which only the waits matter.
func waiting() (*Service, tenancy.Principal) {
	return &Service{waiters: newWaiters()}, tenancy.Principal{Workspace: ids.New(), Agent: ids.New()}
}

// empty is a look at these lanes that found nothing.
func (s *Service) empty(who tenancy.Principal, lanes ...int64) claimResult {
	return claimResult{lanes: lanes, version: s.waiters.version(who.Workspace, lanes), claimed: Claimed{Reason: ReasonEmpty}}
}

// A job that becomes ready between the look and the wait is not missed.
func TestAWakeUpBetweenLookAndWaitIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		seen := s.empty(who, 1)
		s.waiters.laneChanged(who.Workspace, 1)
		start := time.Now()
		if s.wait(t.Context(), who, seen, time.Minute) != recheck || time.Since(start) != 0 {
			t.Errorf("waited %s for what had come already", time.Since(start))
		}
	})
}

// Neither is a seat that comes free between the two; one that came free before the
// look is no news.
func TestASeatFreedBetweenLookAndWaitIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		factory := ids.New()
		full := func() claimResult {
			return claimResult{factory: factory, began: s.waiters.latest(), claimed: Claimed{Reason: ReasonNoSeats}}
		}
		seen := full()
		s.waiters.seatFreed(fleet.SeatTopic(who.Workspace, factory))
		start := time.Now()
		if s.wait(t.Context(), who, seen, time.Minute) != recheck || time.Since(start) != 0 {
			t.Errorf("waited %s for a seat that was free already", time.Since(start))
		}
		if s.wait(t.Context(), who, full(), time.Second); time.Since(start) != time.Second {
			t.Errorf("woke after %s for a seat that was seen before", time.Since(start))
		}
	})
}

func TestAWaitWakesOnlyForItsLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		woke := make(chan wakeReason, 1)
		go func() { woke <- s.wait(t.Context(), who, s.empty(who, 1, 2), time.Second) }()
		synctest.Wait()
		s.waiters.laneChanged(who.Workspace, 3)
		s.waiters.laneChanged(ids.New(), 1)
		synctest.Wait()
		select {
		case <-woke:
			t.Fatal("another lane, or another workspace, woke it")
		default:
		}
		s.waiters.laneChanged(who.Workspace, 2)
		if <-woke != jobReady {
			t.Error("its own lane did not wake it for a job")
		}
	})
}

// One job wakes one of many; whoever it woke and did not need it hands on.
func TestOneJobWakesOneWaiterAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		woke := make(chan wakeReason, 100)
		for range 100 {
			go func() { woke <- s.wait(ctx, who, s.empty(who, 1), time.Second) }()
		}
		synctest.Wait()
		for want := 1; want <= 3; want++ {
			s.waiters.laneChanged(who.Workspace, 1)
			synctest.Wait()
			if len(woke) != want {
				t.Fatalf("%d are awake after %d jobs", len(woke), want)
			}
		}
		s.waiters.notifyNext(who.Workspace, []int64{1}, fanOut)
		synctest.Wait()
		if len(woke) != 3+fanOut {
			t.Errorf("%d are awake; a success wakes %d more", len(woke), fanOut)
		}
		for _, want := range []wakeReason{jobReady, jobReady, jobReady, recheck, recheck} {
			if why := <-woke; why != want {
				t.Errorf("woken for %d; %d expected", why, want)
			}
		}
	})
}

// A waiter that leaves with a wake-up it did not use gives it to the next.
func TestAnUnusedWakeUpGoesToTheNextInLine(t *testing.T) {
	s, who := waiting()
	first := s.waiters.add(who.Workspace, ids.Nil, []int64{1}, false)
	second := s.waiters.add(who.Workspace, ids.Nil, []int64{1}, false)
	s.waiters.laneChanged(who.Workspace, 1)
	s.waiters.remove(first)
	if len(second.signal) != 1 || <-second.signal != jobReady {
		t.Error("the wake-up went with the one that left")
	}
	s.waiters.remove(second)
}

func TestTheSafetyPollLooksAgainWithoutAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		start := time.Now()
		why := s.wait(t.Context(), who, s.empty(who, 1), time.Minute)
		if took := time.Since(start); why != recheck || took < safetyPoll/2 || took > safetyPoll*3/2 {
			t.Errorf("woke with %d after %s; want between half and one and a half of %s", recheck, took, safetyPoll)
		}
		start = time.Now()
		if s.wait(t.Context(), who, s.empty(who, 1), time.Second) != timedOut || time.Since(start) != time.Second {
			t.Errorf("a wait of a second ended after %s with another look", time.Since(start))
		}
	})
}

// With a watch behind it a wait for a job trusts the wake-ups to its end; one for a
// seat does not.
func TestOneWatchStandsForThePollsOfAll(t *testing.T) {
	w := newWaiters()
	w.watch = func(ids.ID) {}
	if got := w.poll(false); got <= maxWait {
		t.Errorf("a wait for a job is interrupted after %s", got)
	}
	if got := w.poll(true); got > safetyPoll*3/2 {
		t.Errorf("a wait for a seat looks again after %s", got)
	}
}

// What stands first in a lane at two looks in a row was not told of. What is held
// back is told of more and more seldom.
func TestTheWatchTellsOfWhatStandsThere(t *testing.T) {
	seen, job := laneSnapshots{}, ids.New()
	var told []int
	for look := 1; look <= 40; look++ {
		if len(seen.lost(map[int64]ids.ID{1: job})) > 0 {
			told = append(told, look)
		}
	}
	if !slices.Equal(told, []int{2, 4, 8, 16, 32}) {
		t.Errorf("told at the looks %v", told)
	}
	for look := range 10 {
		if lanes := seen.lost(map[int64]ids.ID{1: ids.New()}); len(lanes) > 0 {
			t.Errorf("look %d told of a lane in which jobs are taken", look)
		}
	}
	last := ids.New()
	seen.lost(map[int64]ids.ID{1: last})
	seen.lost(nil)
	if lanes := seen.lost(map[int64]ids.ID{1: last}); len(lanes) > 0 {
		t.Error("two looks with another between them are not in a row")
	}
}

// The watch runs while somebody waits for a job, once, and ends with the last.
func TestTheWatchRunsWhileSomebodyWaits(t *testing.T) {
	w, workspace := newWaiters(), ids.New()
	began := make(chan ids.ID, 3)
	w.watch = func(workspace ids.ID) { began <- workspace }
	first, second := w.add(workspace, ids.Nil, []int64{1}, false), w.add(workspace, ids.Nil, []int64{2, 3}, false)
	<-began
	if lanes := w.waitingLanes(workspace); len(lanes) != 3 {
		t.Errorf("lanes %v are watched", lanes)
	}
	w.remove(first)
	if lanes := w.waitingLanes(workspace); len(lanes) != 2 {
		t.Errorf("lanes %v are watched after one left", lanes)
	}
	w.remove(second)
	if lanes := w.waitingLanes(workspace); lanes != nil {
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
	w, workspace := newWaiters(), ids.New()
	full := w.add(workspace, ids.New(), []int64{1}, true)
	other := w.add(workspace, ids.Nil, []int64{2}, false)
	line := []*waiter{w.add(workspace, ids.Nil, []int64{1, 2}, false), w.add(workspace, ids.Nil, []int64{1}, false),
		w.add(workspace, ids.Nil, []int64{1, 3}, false), w.add(workspace, ids.Nil, []int64{1, 2}, false)}
	for i := range line {
		w.laneChanged(workspace, 1)
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
