package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// margin is how long before the end of a lease the work on it stops, so that nothing is
// done in the name of a lease that the server may just have ended.
const margin = 2 * time.Second

// why says what stopped the work on a lease.
type why string

// What stops the work on a lease; the first one that comes stays, but for fenced, which
// replaces each other.
const (
	whyNot       why = ""
	whyFenced    why = "fenced"    // it is not ours any more
	whyUnheard   why = "unheard"   // the server did not answer for as long as the lease lasts
	whyCancelled why = "cancelled" // a person cancelled the job
	whyPaused    why = "paused"    // a person, a budget or a stop paused the job
	whyAsked     why = "asked"     // the agent asked a person
	whyStopping  why = "stopping"  // the worker has to stop now
	whyTimeout   why = "timeout"   // the attempt takes too long
)

// lease is a job that this worker holds, with what the server last said of it.
type lease struct {
	job   string
	epoch int64
	// work ends when the work on the lease is to stop.
	work context.Context
	stop context.CancelFunc
	// follows: it takes no seat, since all that is left to do is to wait for a pull request.
	follows atomic.Bool
	// files are those that the work on it touches.
	files touchedFiles

	mu     sync.Mutex
	until  time.Duration // on the clock of sinceBoot
	cause  why
	reason string // of the server, in words
}

// newLease returns a lease that lasts until a time on the clock of sinceBoot.
func newLease(job string, epoch int64, until time.Duration) *lease {
	l := &lease{job: job, epoch: epoch, until: until}
	l.work, l.stop = context.WithCancel(context.Background())
	return l
}

// ours reports whether the server has said that the lease lasts until after now.
func (l *lease) ours(now time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause != whyFenced && now < l.until-margin
}

// extend takes what a call that was sent at a time said: that the lease lasts for this much
// longer. An answer that comes late makes it no shorter.
func (l *lease) extend(sent, lasts time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = max(l.until, sent+lasts)
}

// end stops the work on the lease, for a reason.
func (l *lease) end(cause why, reason string) {
	l.mu.Lock()
	first := l.cause == whyNot || cause == whyFenced && l.cause != whyFenced
	if first {
		l.cause, l.reason = cause, reason
	}
	l.mu.Unlock()
	if first {
		l.stop()
	}
}

// ended returns what stopped the work, and the reason that was given.
func (l *lease) ended() (why, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause, l.reason
}

// obey does what the server wants of the lease.
func (l *lease) obey(d api.Directive, reason *string) {
	said := ""
	if reason != nil {
		said = *reason
	}
	switch d {
	case api.DirectiveFenced:
		l.end(whyFenced, said)
	case api.DirectiveCancel:
		l.end(whyCancelled, said)
	case api.DirectivePause:
		l.end(whyPaused, said)
	}
}

// check ends the work where the lease may have run out unheard.
func (l *lease) check(now time.Duration) {
	if !l.ours(now) {
		l.end(whyUnheard, "the server was not heard for as long as the lease lasts")
	}
}

// leaseID names a lease.
type leaseID struct {
	job   string
	epoch int64
}

// leases are those that the worker holds. Its methods may be called by several goroutines.
type leases struct {
	freed signal.Signal // a seat may be free

	mu     sync.Mutex
	held   map[leaseID]*lease
	asking int // calls that may bring jobs
}

func newLeases(freed signal.Signal) *leases { return &leases{freed: freed, held: map[leaseID]*lease{}} }

// hold takes a lease into account; it reports false where it is there already.
func (s *leases) hold(l *lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := leaseID{l.job, l.epoch}
	if s.held[id] != nil {
		return false
	}
	s.held[id] = l
	return true
}

// letGo forgets a lease that has ended.
func (s *leases) letGo(l *lease) {
	s.mu.Lock()
	delete(s.held, leaseID{l.job, l.epoch})
	s.mu.Unlock()
	s.freed.Set()
}

// all returns those held now.
func (s *leases) all() []*lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.held))
}

// find returns the one held under a name, nil for none.
func (s *leases) find(job string, epoch int64) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[leaseID{job, epoch}]
}

// seated returns how many take a seat. What follows a pull request takes none.
func (s *leases) seated() (n int) {
	for _, l := range s.all() {
		if !l.follows.Load() {
			n++
		}
	}
	return n
}

// beginAsking notes that a claim is on its way: until done is called, the server may have given
// some jobs that the worker does not know yet.
func (s *leases) beginAsking() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asking--
	}
}

func (s *leases) isAsking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking > 0
}

// watch ends the work on leases that may have run out unheard, until ctx ends.
func (s *leases) watch(ctx context.Context) {
	every := time.NewTicker(time.Second / 4)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		now := sinceBoot()
		for _, l := range s.all() {
			l.check(now)
		}
	}
}
