package metrics_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/fleetboard/fleetboard/internal/metrics"
)

// Counting takes no memory: it is on the way of each claim and each heartbeat.
func TestCountingAllocatesNothing(t *testing.T) {
	metrics.CountRequest(metrics.Claim, 204, time.Millisecond) // the first of its kind makes its counter
	for name, count := range map[string]func(){
		"a request": func() { metrics.CountRequest(metrics.Claim, 204, time.Millisecond) },
		"a claim":   func() { metrics.Claims.Of("empty").Inc() },
		"a time":    func() { metrics.ClaimTime.Observe(.001) },
		"a gauge":   func() { metrics.ClaimsWaiting.Inc(); metrics.ClaimsWaiting.Dec() },
	} {
		if n := testing.AllocsPerRun(1000, count); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// A word that is none of the fixed ones makes no series of its own.
func TestUnknownWordsAreOneSeries(t *testing.T) {
	before := testutil.ToFloat64(metrics.Claims.Of("other"))
	for _, word := range []string{"", "a reason of tomorrow", `"}\n`, "Fix the login of Mara Ilić"} {
		metrics.Claims.Of(word).Inc()
	}
	if n := testutil.ToFloat64(metrics.Claims.Of("other")) - before; n != 4 {
		t.Errorf("%v were counted as other; want 4", n)
	}
}

// Whatever a handler answers is counted somewhere.
func TestOddStatusesAreCounted(*testing.T) {
	for _, status := range []int{-1, 0, 99, 600, 1 << 30} {
		metrics.CountRequest(metrics.Pages, status, 0)
	}
}

func BenchmarkCountRequest(b *testing.B) {
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			metrics.CountRequest(metrics.Heartbeat, 200, time.Millisecond)
		}
	})
}

func BenchmarkCountClaim(b *testing.B) {
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			metrics.Claims.Of("empty").Inc()
			metrics.ClaimTime.Observe(.002)
		}
	})
}
