package leadership

import (
	"sync/atomic"
	"time"
)

// Term is a time in which one process leads without a break.
type Term struct {
	// Number is higher than that of every term before.
	Number int64
	Holder string

	began time.Time
	until atomic.Int64 // when trust ends, in nanoseconds after began
	timer *time.Timer
}

// newTerm begins a term whose request was sent at that time; trustEnded is called when
// the process no longer trusts its lease.
func newTerm(number int64, holder string, sent time.Time, trustEnded func()) *Term {
	t := &Term{Number: number, Holder: holder, began: sent}
	t.until.Store(int64(trustDuration))
	t.timer = time.AfterFunc(time.Until(sent.Add(trustDuration)), trustEnded)
	return t
}

// extendTrust sets a later end of trust, after a renewal that was sent at that time was
// granted. A term whose trust has ended is not revived.
func (t *Term) extendTrust(sent time.Time) {
	if !t.Trusted() || !t.timer.Stop() {
		return
	}
	t.until.Store(int64(sent.Add(trustDuration).Sub(t.began)))
	t.timer.Reset(time.Until(sent.Add(trustDuration)))
}

// Trusted reports whether the process may still act as the leader of this term.
// It is called before each piece of work: a process that was stopped and goes on
// knows it here first, before any timer has fired.
func (t *Term) Trusted() bool { return int64(time.Since(t.began)) < t.until.Load() }
