package chaos

import (
	"context"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/callertest"
)

// rateWindow is how long the calls of a token are counted.
const rateWindow = 6 * time.Second

// answeredRate sends calls to all servers in turn, as fast as they are answered, and returns how
// many a second were let through once the buckets were empty.
func answeredRate(ctx context.Context, t *testing.T, servers []*api.ClientWithResponses) float64 {
	t.Helper()
	// drain calls each server until it refuses.
	drain := func() (n int) {
		for _, s := range servers {
			for {
				answer, err := s.ListProductsWithResponse(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				if answer.StatusCode() != http.StatusOK {
					break
				}
				n++
			}
		}
		return n
	}
	drain()
	begin, n := time.Now(), 0
	for time.Since(begin) < rateWindow {
		n += drain()
		if err := callertest.Rest(ctx, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	n += drain()
	return float64(n) / time.Since(begin).Seconds()
}

// A token gets its rate from all servers together, and the whole of it from the one that is left.
func TestTheRateOfATokenIsDividedAmongTheServersThatLive(t *testing.T) {
	const rate, count = 30, 3
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := keptDir(t)
	webs := newWebs(t, count, dbtest.URL(t), dir)
	var servers []*api.ClientWithResponses
	for _, w := range webs {
		w.env = append(w.env, "FLEETBOARD_RATE_LIMIT=30")
		if err := w.launch(ctx); err != nil {
			t.Fatal(err)
		}
		servers = append(servers, speak(t, w, token(t, dir, "owner-token")))
	}
	settles := func(what string, servers []*api.ClientWithResponses) {
		t.Helper()
		got := 0.0
		for ctx.Err() == nil {
			if got = answeredRate(ctx, t, servers); got > 0.8*rate && got < 1.2*rate {
				t.Logf("%s: %.1f calls a second", what, got)
				return
			}
		}
		t.Fatalf("%s: %.1f calls a second are let through, want %d", what, got, rate)
	}
	settles("three servers", servers)
	for range 2 { // it stays so
		if got := answeredRate(ctx, t, servers); got < 0.8*rate || got > 1.2*rate {
			t.Errorf("three servers let %.1f calls a second through, want %d", got, rate)
		}
	}
	for _, w := range webs[1:] {
		if err := w.proc.End(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if got := answeredRate(ctx, t, servers[:1]); got > 1.2*rate {
		t.Errorf("one server lets %.1f calls a second through, want %d at most", got, rate)
	}
	settles("the one that is left", servers[:1])
}
