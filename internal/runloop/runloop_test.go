package runloop_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

// during runs fn's loops or tasks for d of a test's own time and returns the log.
func during(t *testing.T, d time.Duration, fn func(ctx context.Context, log *slog.Logger) error) string {
	t.Helper()
	var log bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := fn(ctx, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Errorf("it returned %v", err)
	}
	return log.String()
}

func TestLoopsRunAtOnceAndThenEverySoOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, slow := 0, 0
		log := during(t, 10*time.Second+time.Millisecond, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Run(ctx, log,
				runloop.Loop{Name: "fast", Every: time.Second, Do: func(context.Context) error { fast++; return nil }},
				runloop.Loop{Name: "slow", Every: 4 * time.Second, Jitter: time.Second, Do: func(context.Context) error { slow++; return nil }})
		})
		if fast != 11 || slow != 3 {
			t.Errorf("%d fast and %d slow cycles in ten seconds, want 11 and 3", fast, slow)
		}
		if log != "" {
			t.Errorf("it logged %s", log)
		}
	})
}

func TestAKickStartsACycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kick := make(chan struct{}, 1)
		var at []time.Duration
		start := time.Now()
		time.AfterFunc(3*time.Second, func() { kick <- struct{}{} })
		during(t, time.Minute, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Run(ctx, log, runloop.Loop{Name: "kicked", Every: time.Hour, Kick: kick, Do: func(context.Context) error {
				at = append(at, time.Since(start))
				return nil
			}})
		})
		if len(at) != 2 || at[0] != 0 || at[1] != 3*time.Second {
			t.Errorf("cycles at %v, want 0 and 3s", at)
		}
	})
}

func TestFailuresAndPanicsAreLoggedOnceAndTheLoopGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cycles := 0
		log := during(t, 359500*time.Millisecond, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Run(ctx, log, runloop.Loop{Name: "frail", Every: time.Second, Do: func(context.Context) error {
				cycles++
				switch {
				case cycles <= 5:
					return errors.New("no luck")
				case cycles <= 10:
					panic("boom")
				}
				return nil
			}})
		})
		for text, want := range map[string]int{`error="no luck"`: 1, `error="panic: boom"`: 1, "runloop_test.go": 1, "works again": 1, "loop=frail": 3} {
			if got := strings.Count(log, text); (got == 0) != (want == 0) || (text != "runloop_test.go" && got != want) {
				t.Errorf("%q stands %d times in the log, want %d:\n%s", text, got, want, log)
			}
		}
		// Ten failures: 5, 10 and 20 s, seven times 40 s. Then a cycle a second.
		if cycles != 10+45 {
			t.Errorf("%d cycles, want 55", cycles)
		}
	})
}

func TestFailuresMakeTheWaitsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		kick := make(chan struct{})
		log := during(t, 200*time.Second, func(ctx context.Context, log *slog.Logger) error {
			go func() {
				select {
				case kick <- struct{}{}: // nobody listens while it fails
					t.Error("a kick broke into a wait after a failure")
				case <-ctx.Done():
				}
			}()
			return runloop.Run(ctx, log, runloop.Loop{Name: "away", Every: 3 * time.Second, Kick: kick, Do: func(context.Context) error {
				at = append(at, time.Since(start))
				return fault.Wrap(fmt.Errorf("dial: %d", len(at)), fault.Unavailable, "The database is away.")
			}})
		})
		var seconds []int
		for _, d := range at {
			seconds = append(seconds, int(d/time.Second))
		}
		if want := []int{0, 5, 15, 35, 75, 115, 155, 195}; !slices.Equal(seconds, want) {
			t.Errorf("tries at %v s, want %v", seconds, want)
		}
		if n := strings.Count(log, "level=ERROR"); n != 1 {
			t.Errorf("the outage stands %d times in the log:\n%s", n, log)
		}
	})
}

func TestASlowLoopWaitsItsOwnTimeAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cycles := 0
		log := during(t, 10*time.Minute+time.Second, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Run(ctx, log, runloop.Loop{Name: "slow", Every: 5 * time.Minute, Do: func(context.Context) error {
				if cycles++; cycles == 1 {
					return errors.New("no luck")
				}
				return nil
			}})
		})
		if cycles != 3 || !strings.Contains(log, "works again") {
			t.Errorf("%d cycles, want 3:\n%s", cycles, log)
		}
	})
}

func TestACycleHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lasted time.Duration
		during(t, time.Minute, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Run(ctx, log, runloop.Loop{Name: "stuck", Every: time.Hour, Timeout: 2 * time.Second, Do: func(ctx context.Context) error {
				start := time.Now()
				<-ctx.Done()
				lasted = time.Since(start)
				return ctx.Err()
			}})
		})
		if lasted != 2*time.Second {
			t.Errorf("the cycle lasted %v, want 2s", lasted)
		}
	})
}

func TestTheEndIsNotAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		untilTheEnd := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		log := during(t, time.Second, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Run(ctx, log, runloop.Loop{Name: "busy", Every: time.Second, Do: untilTheEnd})
		})
		log += during(t, time.Second, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Keep(ctx, log, runloop.Task{Name: "busy", Run: untilTheEnd})
		})
		if log != "" {
			t.Errorf("it logged %s", log)
		}
	})
}

func TestTasksAreStartedAgainMoreAndMoreSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		last := time.Now()
		log := during(t, 5*time.Minute, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Keep(ctx, log, runloop.Task{Name: "frail", Run: func(context.Context) error {
				waits = append(waits, time.Since(last))
				last = time.Now()
				switch len(waits) {
				case 1:
					panic("boom")
				case 2:
					return nil
				}
				return errors.New("no luck")
			}})
		})
		// Twelve starts fit: 0.25 s doubling up to 30 s, a quarter of jitter at most.
		if len(waits) < 12 || len(waits) > 16 {
			t.Errorf("%d starts in five minutes: %v", len(waits), waits)
		}
		if w := waits[len(waits)-1]; w < 30*time.Second || w > 38*time.Second {
			t.Errorf("the last wait was %v, want about 30s", w)
		}
		for _, text := range []string{"panic: boom", "ended by itself", "no luck"} {
			if strings.Count(log, `error="`+text) != 1 {
				t.Errorf("%q is not once in the log:\n%s", text, log)
			}
		}
	})
}

func TestASteadyTaskStartsAgainQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		during(t, 10*time.Minute+10*time.Second, func(ctx context.Context, log *slog.Logger) error {
			return runloop.Keep(ctx, log, runloop.Task{Name: "steady", Run: func(ctx context.Context) error {
				starts++
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				return errors.New("no luck")
			}})
		})
		if starts != 11 {
			t.Errorf("%d starts, want 11", starts)
		}
	})
}
