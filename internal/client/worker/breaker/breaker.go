// Package breaker withdraws what a host offers and what does not work, and tries it again: a
// circuit breaker for each part.
//
//	closed     it works, as far as anybody knows: it is offered
//	open       it failed: it is not offered until a pause is over, and is then probed
//	half open  the pause is over and the probe found nothing: it is offered, for one job
//	trying     that job has it: it is not offered to another one
//
// A failure opens it; one that a trial brings doubles the pause, and so does one that comes
// soon after it worked again. What a trial brings that is no failure closes it.
package breaker

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// LongestPause is between two tries, however often it has failed.
const LongestPause = 30 * time.Minute

// Part is something that is offered: an engine, a repository.
type Part struct{ Kind, Name string }

// Withdrawn is a part that is not offered.
type Withdrawn struct {
	Part
	// Reason is why it failed last, and Since when it did first.
	Reason string
	Since  time.Time
}

// circuit is a part that is not closed, or was not a short time ago.
type circuit struct {
	reason string
	since  time.Time
	pause  time.Duration // the last one
	at     time.Duration // when the state began, by the clock
	state  state
}

type state int

const (
	closed state = iota // again
	open
	halfOpen
	trying
)

// Breaker keeps the circuits of a host. Its methods may be called by several goroutines.
type Breaker struct {
	clock func() time.Duration
	first time.Duration

	mu       sync.Mutex
	circuits map[Part]*circuit
	version  int
}

// New returns a breaker whose first pause is first, by a clock that only grows.
func New(first time.Duration, clock func() time.Duration) *Breaker {
	return &Breaker{clock: clock, first: min(first, LongestPause), circuits: map[Part]*circuit{}}
}

// Version changes whenever what is offered may have changed.
func (b *Breaker) Version() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

// Offers reports whether a part is offered.
func (b *Breaker) Offers(p Part) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuits[p]
	return c == nil || c.state == closed || c.state == halfOpen
}

// Begin takes a part for a job. It reports whether the job may have it, and whether it is the
// one by which the part is tried: its caller says what came of that by Failed, Worked or
// GiveUp.
func (b *Breaker) Begin(p Part) (trial, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c := b.circuits[p]; {
	case c == nil || c.state == closed:
		return false, true
	case c.state == halfOpen:
		b.set(c, trying)
		return true, true
	}
	return false, false
}

// Failed withdraws a part. What fails in another job than its trial, once it is withdrawn, is
// no news.
func (b *Breaker) Failed(p Part, reason string, trial bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuits[p]
	switch {
	case c == nil:
		c = &circuit{pause: b.first, since: time.Now()}
		b.circuits[p] = c
	case trial && c.state == trying:
		c.pause = min(2*c.pause, LongestPause)
	case c.state == closed && b.clock()-c.at < LongestPause:
		c.pause, c.since = min(2*c.pause, LongestPause), time.Now()
	case c.state == closed:
		c.pause, c.since = b.first, time.Now()
	default:
		return
	}
	c.reason = reason
	b.set(c, open)
}

// Worked closes the circuit of a part that a trial has found to work.
func (b *Breaker) Worked(p Part) { b.decide(p, closed) }

// GiveUp ends a trial that did not show whether the part works: the next job is one.
func (b *Breaker) GiveUp(p Part) { b.decide(p, halfOpen) }

func (b *Breaker) decide(p Part, s state) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.circuits[p]; c != nil && c.state == trying {
		b.set(c, s)
	}
}

// Probed says what a probe found of a part whose pause is over: nothing, so that a job may try
// it, or why it does not work still.
func (b *Breaker) Probed(p Part, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.circuits[p]
	switch {
	case c == nil || c.state != open:
	case err == nil:
		b.set(c, halfOpen)
	default:
		c.pause, c.reason = min(2*c.pause, LongestPause), err.Error()
		b.set(c, open)
	}
}

// Forget forgets a part that is not there any more.
func (b *Breaker) Forget(p Part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.circuits, p)
	b.version++
}

// set begins a state.
func (b *Breaker) set(c *circuit, s state) {
	c.state, c.at = s, b.clock()
	b.version++
}

// Due returns the parts whose pause is over, and wait is how long the first of the others has to
// wait; it is 0 where there is none.
func (b *Breaker) Due() (due []Part, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, c := range b.circuits {
		if c.state != open {
			continue
		}
		left := c.at + c.pause - b.clock()
		if left <= 0 {
			due = append(due, p)
		} else if wait == 0 || left < wait {
			wait = left
		}
	}
	return due, wait
}

// OneOnly reports whether some part waits for the one job by which it is tried.
func (b *Breaker) OneOnly() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.circuits {
		if c.state == halfOpen {
			return true
		}
	}
	return false
}

// Withdrawn returns the parts that are not offered, in the order of their names.
func (b *Breaker) Withdrawn() (list []Withdrawn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, c := range b.circuits {
		if c.state == open || c.state == trying {
			list = append(list, Withdrawn{Part: p, Reason: c.reason, Since: c.since})
		}
	}
	slices.SortFunc(list, func(x, y Withdrawn) int {
		return strings.Compare(x.Kind+"\x00"+x.Name, y.Kind+"\x00"+y.Name)
	})
	return list
}
