package dispatch

import (
	"context"
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
func (s *Service) empty(who tenancy.Principal, lanes ...int64) look {
	return look{lanes: lanes, version: s.waiters.version(who.Workspace, lanes), claimed: Claimed{Reason: ReasonEmpty}}
}

// A job that becomes ready between the look and the wait is not missed.
func TestAWakeUpBetweenLookAndWaitIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		seen := s.empty(who, 1)
		s.waiters.laneChanged(who.Workspace, 1)
		start := time.Now()
		if !s.wait(t.Context(), who, seen, time.Minute) || time.Since(start) != 0 {
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
		full := func() look {
			return look{factory: factory, began: s.waiters.latest(), claimed: Claimed{Reason: ReasonNoSeats}}
		}
		seen := full()
		s.waiters.seatFreed(fleet.SeatTopic(who.Workspace, factory))
		start := time.Now()
		if !s.wait(t.Context(), who, seen, time.Minute) || time.Since(start) != 0 {
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
		woke := make(chan bool, 1)
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
		if !<-woke {
			t.Error("its own lane did not wake it")
		}
	})
}

// One job wakes one of many; whoever it woke and did not need it hands on.
func TestOneJobWakesOneWaiterAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		woke := make(chan bool, 100)
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
		s.waiters.passOn(who.Workspace, []int64{1}, fanOut)
		synctest.Wait()
		if len(woke) != 3+fanOut {
			t.Errorf("%d are awake; a success wakes %d more", len(woke), fanOut)
		}
	})
}

// A waiter that leaves with a wake-up it did not use gives it to the next.
func TestAnUnusedWakeUpGoesToTheNextInLine(t *testing.T) {
	s, who := waiting()
	first := s.waiters.enter(who.Workspace, ids.Nil, []int64{1}, false)
	second := s.waiters.enter(who.Workspace, ids.Nil, []int64{1}, false)
	s.waiters.laneChanged(who.Workspace, 1)
	s.waiters.leave(first)
	if len(second.signal) != 1 {
		t.Error("the wake-up went with the one that left")
	}
	s.waiters.leave(second)
}

func TestTheSafetyPollLooksAgainWithoutAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, who := waiting()
		start := time.Now()
		again := s.wait(t.Context(), who, s.empty(who, 1), time.Minute)
		if took := time.Since(start); !again || took < safetyPoll/2 || took > safetyPoll*3/2 {
			t.Errorf("looked again %t after %s; want between half and one and a half of %s", again, took, safetyPoll)
		}
		start = time.Now()
		if s.wait(t.Context(), who, s.empty(who, 1), time.Second) || time.Since(start) != time.Second {
			t.Errorf("a wait of a second ended after %s with another look", time.Since(start))
		}
	})
}
