package jobs

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBackoffDoublesWithinItsSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.IntRange(0, 86400).Draw(t, "base")
		failures := rapid.IntRange(1, 100).Draw(t, "failures")
		ideal := float64(base)
		for range failures - 1 {
			ideal = min(2*ideal, maxBackoff.Seconds())
		}
		ideal = min(ideal, maxBackoff.Seconds())
		got := Backoff(base, failures).Seconds()
		if got < ideal*(1-backoffJitter)-1 || got > min(ideal*(1+backoffJitter), maxBackoff.Seconds())+1 {
			t.Fatalf("backoff of %ds after %d failures = %.0fs; want %.0fs give or take a fifth, at most a day", base, failures, got, ideal)
		}
	})
}
