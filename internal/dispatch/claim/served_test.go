package claim

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// A lane is matched once with each kind of agent: again only where the lanes were read anew, or the
// agent offers something else.
func TestALaneIsMatchedOnceWithAClass(t *testing.T) {
	s, looks := newServedLanes(), 0
	workspace := ids.New()
	list := laneList{number: 1}
	for i := range 10_000 {
		list.lanes = append(list.lanes, lane{ID: int64(i + 1), Needs: []string{"gpu:a100"}})
	}
	list.lanes[7].Needs = nil
	of := func(list laneList, offer fleet.Offer) []int64 {
		looks = 0
		found := s.of(workspace, list, claimant{}.classKey(offer, nil), func(l lane) bool {
			looks++
			return offer.Serves(l.Needs, l.Factory)
		})
		if len(found.products) != len(found.lanes) {
			t.Errorf("%d products of %d lanes", len(found.products), len(found.lanes))
		}
		return found.lanes
	}
	plain, able := fleet.Offer{Factory: "desk"}, fleet.Offer{Factory: "desk", Tokens: []string{"gpu:a100"}}
	want := func(what string, got []int64, lanes []int64, mostLooks int) {
		t.Helper()
		if !slices.Equal(got, lanes) || looks > mostLooks {
			t.Errorf("%s: %d lanes, want %d; %d looks, want at most %d", what, len(got), len(lanes), looks, mostLooks)
		}
	}
	want("the first time", of(list, plain), []int64{8}, 10_000)
	before := of(list, plain)
	want("again", before, []int64{8}, 0)
	grown := list
	grown.lanes = append(slices.Clone(list.lanes), lane{ID: 10_001}, lane{ID: 10_002, Needs: []string{"x"}})
	want("with new lanes", of(grown, plain), []int64{8, 10_001}, 2)
	want("what was given before", before, []int64{8}, 2)
	want("a list that was read before", of(list, plain), []int64{8}, 10_000)
	if got := of(list, able); len(got) != 10_000 {
		t.Errorf("another kind serves %d lanes", len(got))
	}
	anew := list
	anew.number, anew.lanes = 2, slices.Concat(list.lanes[:3], list.lanes[4:])
	want("read anew", of(anew, plain), []int64{8}, 10_000)
	if (claimant{}).classKey(plain, []ids.ID{workspace}) == (claimant{}).classKey(plain, nil) ||
		(claimant{Follows: fleet.MaxFollowed}).classKey(plain, nil) == (claimant{}).classKey(plain, nil) ||
		(claimant{}).classKey(fleet.Offer{Factory: "other"}, nil) == (claimant{}).classKey(plain, nil) {
		t.Error("two kinds of agents have one name")
	}
}

// A product is known to be served in part as soon as one of its lanes is not served, and what was
// given before stays as it was.
func TestAProductIsServedInPart(t *testing.T) {
	s, workspace, whole, part := newServedLanes(), ids.New(), ids.New(), ids.New()
	list := laneList{number: 1, lanes: []lane{{ID: 1, ProductID: whole}, {ID: 2, ProductID: part}}}
	of := func(list laneList) served {
		return s.of(workspace, list, [32]byte{}, func(l lane) bool { return l.Factory == "" })
	}
	before := of(list)
	if len(before.partly) != 0 {
		t.Errorf("of all lanes that it serves some are not: %v", before.partly)
	}
	list.lanes = append(slices.Clone(list.lanes), lane{ID: 3, ProductID: part, Factory: "other"}, lane{ID: 4, ProductID: part, Factory: "other"})
	after := of(list)
	if len(after.partly) != 1 || !after.partly[part] || len(after.lanes) != 2 || len(before.partly) != 0 {
		t.Errorf("with lanes of another factory: %v; before %v", after, before)
	}
}

// However many lanes are made, the claims of a workspace are woken at once and then a few times a
// second, and the last one is not missed.
func TestNewLanesWakeAFewTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		woken := map[ids.ID]int{}
		a := newLaneAlarm(func(w ids.ID) { woken[w]++ })
		one, other := ids.New(), ids.New()
		a.ring(one)
		if woken[one] != 1 {
			t.Error("the first lane wakes nobody")
		}
		for range 1000 {
			a.ring(one)
			<-time.After(time.Millisecond)
		}
		synctest.Wait()
		if woken[one] < 4 || woken[one] > 5 {
			t.Errorf("in a second it wakes %d times", woken[one])
		}
		a.ring(other)
		if woken[other] != 1 {
			t.Error("another workspace waits for it")
		}
		before := woken[one]
		a.ring(one)
		<-time.After(alarmPause + time.Millisecond)
		synctest.Wait()
		if woken[one] != before+1 {
			t.Error("the last lane wakes nobody")
		}
		<-time.After(time.Second)
		synctest.Wait()
		if woken[one] > before+1 {
			t.Error("it wakes without a lane")
		}
		a.ring(one)
		a.ring(one)
		a.close()
		before = woken[one]
		<-time.After(time.Second)
		synctest.Wait()
		if a.ring(one); woken[one] != before {
			t.Error("it wakes after its end")
		}
	})
}
