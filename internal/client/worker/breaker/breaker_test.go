package breaker

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

var claude = Part{"engine", "claude"}

// bench is a breaker with a clock that the test sets.
type bench struct {
	*Breaker
	t   *testing.T
	now time.Duration
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t}
	b.Breaker = New(time.Minute, func() time.Duration { return b.now })
	return b
}

// try lets the pause pass, finds nothing by a probe, and takes the part for a trial.
func (b *bench) try(pause time.Duration) {
	b.t.Helper()
	b.now += pause - 1
	if due, wait := b.Due(); len(due) != 0 || wait != 1 {
		b.t.Fatalf("before %s are due: %v; %s is left", pause, due, wait)
	}
	b.now++
	if due, _ := b.Due(); len(due) != 1 {
		b.t.Fatalf("after %s nothing is due", pause)
	}
	b.Probed(claude, nil)
	if trial, ok := b.Begin(claude); !trial || !ok {
		b.t.Fatalf("after %s it is not tried: %v, %v", pause, trial, ok)
	}
}

// The states, one after another.
func TestStates(t *testing.T) {
	b := newBench(t)
	is := func(offered, begins, trial bool) {
		t.Helper()
		if got := b.Offers(claude); got != offered {
			t.Errorf("offered: %v", got)
		}
		if gotTrial, ok := b.Begin(claude); ok != begins || gotTrial != trial {
			t.Errorf("a job may begin: %v, as a trial: %v", ok, gotTrial)
		}
	}
	is(true, true, false)
	b.Failed(claude, "Invalid API key", false)
	is(false, false, false)
	b.now += time.Minute
	is(false, false, false) // not before it was probed
	b.Probed(claude, nil)
	if !b.OneOnly() {
		t.Error("it waits for one job only")
	}
	is(true, true, true)
	is(false, false, false) // somebody tries it
	if w := b.Withdrawn(); len(w) != 1 || w[0].Reason != "Invalid API key" || w[0].Since.IsZero() {
		t.Errorf("withdrawn are %v", w)
	}
	b.GiveUp(claude)
	is(true, true, true)
	b.Worked(claude)
	is(true, true, false)
	if w := b.Withdrawn(); len(w) != 0 || b.OneOnly() {
		t.Errorf("withdrawn are %v", w)
	}
}

func TestPausesDoubleUpToHalfAnHour(t *testing.T) {
	b := newBench(t)
	b.Failed(claude, "no", false)
	for _, pause := range []int{1, 2, 4, 8, 16, 30, 30} {
		b.try(time.Duration(pause) * time.Minute)
		b.Failed(claude, "no", true)
	}
	b.try(30 * time.Minute)
	b.Worked(claude)
	b.now += LongestPause - 1
	b.Failed(claude, "soon again", false)
	b.try(30 * time.Minute)
	b.Worked(claude)
	b.now += LongestPause
	b.Failed(claude, "much later", false)
	b.try(time.Minute)
}

// Jobs that had the part before it failed change nothing of what its trial finds.
func TestOnlyTheTrialDecides(t *testing.T) {
	b := newBench(t)
	b.Failed(claude, "first", false)
	b.Failed(claude, "second", false)
	b.Worked(claude)
	if b.Offers(claude) || b.Withdrawn()[0].Reason != "first" {
		t.Errorf("withdrawn are %v", b.Withdrawn())
	}
	b.try(time.Minute)
	b.Failed(claude, "an old job", false)
	b.Worked(claude)
	if !b.Offers(claude) {
		t.Error("it is withdrawn")
	}
}

func TestAProbeThatFailsDoublesThePause(t *testing.T) {
	b := newBench(t)
	b.Failed(claude, "not installed", false)
	for i, pause := range []int{1, 2, 4} {
		b.now += time.Duration(pause) * time.Minute
		if due, _ := b.Due(); len(due) != 1 {
			t.Fatalf("after %d min nothing is due", pause)
		}
		b.Probed(claude, fmt.Errorf("probe %d", i))
		if due, _ := b.Due(); len(due) != 0 || b.Offers(claude) || b.Withdrawn()[0].Reason != fmt.Sprintf("probe %d", i) {
			t.Errorf("due: %v, withdrawn: %v", due, b.Withdrawn())
		}
	}
	b.Probed(Part{"engine", "codex"}, errors.New("unknown"))
	b.Forget(claude)
	if len(b.Withdrawn()) != 0 || !b.Offers(claude) {
		t.Errorf("withdrawn: %v", b.Withdrawn())
	}
}

func TestTheVersionTellsOfEachChange(t *testing.T) {
	b := newBench(t)
	last := b.Version()
	changed := func(want bool) {
		t.Helper()
		if now := b.Version(); (now != last) != want {
			t.Errorf("it changed: %v", now != last)
		} else {
			last = now
		}
	}
	b.Failed(claude, "no", false)
	changed(true)
	b.Failed(claude, "no", false)
	changed(false)
	b.Begin(claude)
	changed(false)
	b.now += time.Minute
	b.Probed(claude, nil)
	changed(true)
	b.Begin(claude)
	changed(true)
	b.Worked(claude)
	changed(true)
	b.Begin(claude)
	changed(false)
}
