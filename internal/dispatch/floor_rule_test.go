package dispatch

import (
	"testing"
	"time"

	"fleetboard/internal/ids"
)

// A floor comes of a long way only, rises with the claims, and ends when it was to.
func TestAFloorComesOfALongWayAndEnds(t *testing.T) {
	t.Parallel()
	now, workspace := time.Now(), ids.New()
	f := newFloors()
	f.now = func() time.Time { return now }
	first, second := place{priority: 5, job: ids.New()}, place{priority: 4, job: ids.New()}
	for _, step := range []struct {
		what   string
		passes time.Duration
		to     place
		blocks int64
		want   place // zero for none
	}{
		{"a short way", 0, first, longWay - 1, place{}},
		{"a long way", 0, first, longWay, first},
		{"on from there", floorLasts / 2, second, 1, second},
		{"it is over", floorLasts / 2, second, 1, place{}},
		{"a long way again", 0, second, longWay, second},
		{"it is over again", floorLasts, second, 1, place{}},
		{"a very long way", 0, first, 10_000, first},
		{"it is believed longer", 10_000*lastsOfBlock - 1, second, 1, second},
		{"and is over", 1, second, 1, place{}},
		{"an endless way", 0, first, 1_000_000, first},
		{"is believed no longer", floorLastsMost, second, 1, place{}},
	} {
		now = now.Add(step.passes)
		if step.passes > 0 {
			f.below(workspace, []int64{1})
		}
		f.reached(workspace, 1, step.to, step.blocks)
		if got := f.below(workspace, []int64{1, 2})[1]; got != step.want {
			t.Errorf("%s: %v; want %v", step.what, got, step.want)
		}
	}
	if other := f.below(ids.New(), []int64{1}); len(other) != 0 {
		t.Errorf("another workspace: %v", other)
	}
}
