package signal_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/internal/signal"
)

func TestSignalCountsOnce(t *testing.T) {
	s := signal.New()
	received := func() bool {
		select {
		case <-s.C():
			return true
		default:
			return false
		}
	}
	if received() {
		t.Error("a new signal is set")
	}
	s.Set()
	s.Set()
	if !received() {
		t.Error("a signal that was set is not received")
	}
	if received() {
		t.Error("a signal that was set twice is received twice")
	}
	s.Set()
	if !received() {
		t.Error("a signal that was received cannot be set again")
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := signal.Sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("slept for %v, %v; want a minute", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		err := signal.Sleep(ctx, time.Minute)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("slept for %v, %v; want the context's second and its error", time.Since(start), err)
		}
		if err := signal.Sleep(ctx, 0); err == nil {
			t.Error("slept although the context had ended")
		}
	})
}

func TestJitterStaysWithinItsShare(t *testing.T) {
	low, high := time.Hour, time.Duration(0)
	for range 10_000 {
		d := signal.Jitter(time.Minute, 0.5)
		low, high = min(low, d), max(high, d)
	}
	if low < 30*time.Second || high > 90*time.Second {
		t.Errorf("from %v to %v; want 30s to 90s", low, high)
	}
	if low > 40*time.Second || high < 80*time.Second {
		t.Errorf("from %v to %v; want most of 30s to 90s", low, high)
	}
	if d := signal.Jitter(time.Minute, 0); d != time.Minute {
		t.Errorf("without a share %v; want a minute", d)
	}
}

func TestBackoffDoublesToItsLongest(t *testing.T) {
	for failures, want := range []int{0, 5, 10, 20, 40, 60, 60} {
		want := time.Duration(want) * time.Second
		if got := signal.Backoff(5*time.Second, time.Minute, failures); got != want {
			t.Errorf("after %d failures %v, want %v", failures, got, want)
		}
	}
	if got := signal.Backoff(time.Second, time.Hour, 1<<30); got != time.Hour {
		t.Errorf("after very many failures %v", got)
	}
}
