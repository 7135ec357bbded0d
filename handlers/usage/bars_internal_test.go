package usage

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/spend"
)

func TestAxisTop(t *testing.T) {
	for most, want := range map[spend.Nanos]int64{0: 1_000_000_000, 1: 1, 3: 5, 7: 10, 10: 10, 11: 20, 1_240_000_000: 2_000_000_000} {
		if got := axisTop(most); got != want {
			t.Errorf("up to %d the axis ends at %d, want %d", most, got, want)
		}
	}
}
