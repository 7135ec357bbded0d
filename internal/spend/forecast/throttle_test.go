package forecast_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/forecast"
)

// lasting returns a projection of money that lasts so many of the hundred hours that it has to.
func lasting(verdict forecast.Verdict, hours float64) forecast.Projection {
	p50 := noon.Add(time.Duration(hours * float64(hour)))
	return forecast.Projection{Verdict: verdict, ExhaustedP50: &p50, From: noon, Until: noon.Add(100 * hour)}
}

func TestWhichPrioritiesWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p         forecast.Projection
		now, want int
	}{
		{lasting(forecast.Throttle, 95), 0, 1},
		{lasting(forecast.Throttle, 85), 0, 2},
		{lasting(forecast.Throttle, 50), 0, 6},
		{lasting(forecast.Throttle, 1), 0, 9},  // 9 and 10 never wait
		{lasting(forecast.Throttle, 50), 7, 7}, // one too high is left
		{lasting(forecast.Throttle, 50), 8, 6},
		{lasting(forecast.Throttle, 50), 5, 6},
		{lasting(forecast.RunsOut, 95), 0, 0}, // it does not begin so early
		{lasting(forecast.RunsOut, 95), 1, 1}, // but it goes on
		{lasting(forecast.RunsOut, 95), 9, 2},
		{forecast.Projection{Verdict: forecast.Enough}, 9, 0},
		{lasting(forecast.Enough, 101), 1, 0},
		{forecast.Projection{Verdict: forecast.TooLittleData}, 3, 0},
		{forecast.Projection{Verdict: forecast.Exhausted}, 0, 9},
	} {
		if got := forecast.ThrottledBelow(c.p, c.now); got != c.want {
			t.Errorf("%s until %v, now below %d: below %d wait; want %d", c.p.Verdict, c.p.ExhaustedP50, c.now, got, c.want)
		}
	}
}

// Looked at again with the same projection, nothing changes; less money holds no fewer;
// a projection that trembles by less than a step moves it twice at most.
func TestTheThrottleDoesNotFlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		verdict := rapid.SampledFrom([]forecast.Verdict{forecast.Throttle, forecast.RunsOut}).Draw(r, "verdict")
		lasts := rapid.Float64Range(0, 99).Draw(r, "hours")
		now := rapid.IntRange(0, 9).Draw(r, "now")
		below := forecast.ThrottledBelow(lasting(verdict, lasts), now)
		if below < 0 || below > 9 {
			r.Fatalf("below %d wait", below)
		}
		if again := forecast.ThrottledBelow(lasting(verdict, lasts), below); again != below {
			r.Fatalf("below %d becomes %d", below, again)
		}
		if less := forecast.ThrottledBelow(lasting(verdict, lasts/2), 0); less < forecast.ThrottledBelow(lasting(verdict, lasts), 0) {
			r.Fatalf("with less money fewer wait: below %d", less)
		}
		changes := 0
		for range 20 {
			trembling := lasts + rapid.Float64Range(-0.5, 0.5).Draw(r, "trembling")*9
			next := forecast.ThrottledBelow(lasting(verdict, min(max(trembling, 0), 99)), below)
			if next != below {
				changes++
			}
			below = next
		}
		if changes > 2 {
			r.Fatalf("it changed %d times", changes)
		}
	})
}

// What a projection says of the present rate is also what the throttle goes by.
func TestTheThrottleGoesByTheProjection(t *testing.T) {
	t.Parallel()
	free := func(days spend.Nanos) forecast.Projection {
		return forecast.Project(month(days*240*cent, steady(7*24, 10*cent)))
	}
	for days, want := range map[spend.Nanos]int{12: 0, 11: 1, 6: 6, 1: 9, 0: 9} {
		if got := forecast.ThrottledBelow(free(days), 0); got != want {
			t.Errorf("money for %d of 12 days holds what is below %d; want %d", days, got, want)
		}
	}
}
