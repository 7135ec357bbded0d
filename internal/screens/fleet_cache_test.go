package screens

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// topics sends topics to its one subscriber.
type topics struct{ tell func(topic string) }

func (w *topics) Subscribe(_ string, fn func(string)) func() {
	w.tell = fn
	return func() {}
}

// fleets are those of workspaces, each with one factory named after how often it was
// read, and counted reads.
type fleets struct {
	reads  map[ids.ID]int
	during func() // what happens while a fleet is read
	err    error
}

func (f *fleets) read(_ context.Context, workspace ids.ID) (fleet.Snapshot, error) {
	f.reads[workspace]++
	if f.during != nil {
		f.during()
	}
	return fleet.Snapshot{Now: time.Now(), Factories: []fleet.Factory{{ID: workspace, Seats: f.reads[workspace]}}}, f.err
}

func TestTheFleetIsReadAgainWhenItHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, other := ids.New(), ids.New()
		told, all := &topics{}, &fleets{reads: map[ids.ID]int{}}
		cache := newFleetCache(all.read, told)
		want := func(when string, workspace ids.ID, reads int) {
			t.Helper()
			snap, err := cache.get(t.Context(), workspace)
			if err != nil || all.reads[workspace] != reads || snap.Factories[0].ID != workspace || snap.Factories[0].Seats != reads {
				t.Errorf("%s: read %d times, %+v, %v; want %d times", when, all.reads[workspace], snap.Factories, err, reads)
			}
			if !snap.Now.Equal(time.Now()) {
				t.Errorf("%s: the fleet's time is %v ago", when, time.Since(snap.Now))
			}
		}
		want("first", mine, 1)
		<-time.After(maxFleetAge / 2)
		want("unchanged", mine, 1)
		want("another workspace", other, 1)
		told.tell(fleet.Topic(other))
		want("another workspace's change", mine, 1)
		want("changed", other, 2)
		told.tell(fleet.Topic(mine))
		want("changed", mine, 2)
		want("unchanged again", mine, 2)
		told.tell("fleet:")
		want("news may have been missed", mine, 3)
		want("news may have been missed", other, 3)
		<-time.After(maxFleetAge)
		want("grown old", mine, 4)
		want("and kept", mine, 4)

		all.during = func() { told.tell(fleet.Topic(mine)) }
		told.tell(fleet.Topic(mine))
		want("changed while it was read", mine, 5)
		all.during = nil
		want("so it was not kept", mine, 6)

		told.tell(fleet.Topic(mine))
		all.err = errors.New("no database")
		if _, err := cache.get(t.Context(), mine); err == nil {
			t.Error("a fleet that could not be read is given")
		}
		all.err = nil
		want("after an error", mine, 8)

		for range 2 * maxFleets {
			if _, err := cache.get(t.Context(), ids.New()); err != nil {
				t.Fatal(err)
			}
		}
		if len(cache.kept) > maxFleets {
			t.Errorf("%d fleets are kept; want %d at most", len(cache.kept), maxFleets)
		}
	})
}
