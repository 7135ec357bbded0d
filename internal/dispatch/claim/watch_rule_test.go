package claim

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// What stands first in a lane at two looks in a row was not announced. What is held
// back is announced more and more seldom.
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
