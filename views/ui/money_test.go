package ui_test

import (
	"math"
	"testing"

	"github.com/fleetboard/fleetboard/views/ui"
)

func TestDollars(t *testing.T) {
	for nanos, want := range map[int64]string{0: "$0.00", 1: "under $0.01", 5_000_000: "$0.01", 12_340_000_000: "$12.34", 999_995_000_000: "$1,000.00",
		-12_340_000_000: "−$12.34", -1: "under $0.01", math.MaxInt64: "$9,223,372,036.85", math.MinInt64: "−$9,223,372,036.85"} {
		if got := ui.Dollars(nanos); got != want {
			t.Errorf("%d is %s, want %s", nanos, got, want)
		}
	}
}
