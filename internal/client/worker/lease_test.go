package worker

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// A lease counts as ours from the moment that the call was sent, whatever time the answer
// takes, and ends before the server can have given the job away.
func TestALeaseIsReckonedFromTheCall(t *testing.T) {
	sent := 100 * time.Second
	l := newLease("FB-1", 1, sent+30*time.Second)
	for at, ours := range map[time.Duration]bool{sent: true, sent + 27*time.Second: true, sent + 28*time.Second: false, sent + time.Hour: false} {
		if l.ours(at) != ours {
			t.Errorf("at %s it is ours: %v", at-sent, l.ours(at))
		}
	}
	l.extend(sent+10*time.Second, 30*time.Second)
	l.extend(sent, 30*time.Second) // an answer that was on the way for long
	if !l.ours(sent + 37*time.Second) {
		t.Error("a later answer does not count")
	}
}

// After an hour of sleep the first look ends the work, before anything else is done.
func TestSleepEndsTheWork(t *testing.T) {
	l := newLease("FB-1", 1, sinceBoot()+2*time.Minute)
	l.check(sinceBoot())
	if l.work.Err() != nil {
		t.Fatal("it ended while it was ours")
	}
	l.check(sinceBoot() + time.Hour)
	if cause, _ := l.ended(); l.work.Err() == nil || cause != whyUnheard {
		t.Errorf("it goes on: %v, %q", l.work.Err(), cause)
	}
}

func TestTheFirstCauseStaysButForFencing(t *testing.T) {
	reason := "somebody else has the job"
	for _, c := range []struct {
		name  string
		first api.Directive
		then  api.Directive
		want  why
	}{
		{"goes on", api.DirectiveContinue, api.DirectiveWarn, whyNot},
		{"goes on while the factory drains", api.DirectiveDrain, api.DirectiveContinue, whyNot},
		{"cancel", api.DirectiveCancel, api.DirectiveContinue, whyCancelled},
		{"cancel, then pause", api.DirectiveCancel, api.DirectivePause, whyCancelled},
		{"pause, then fenced", api.DirectivePause, api.DirectiveFenced, whyFenced},
		{"fenced, then cancel", api.DirectiveFenced, api.DirectiveCancel, whyFenced},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLease("FB-1", 1, sinceBoot()+time.Minute)
			l.obey(c.first, nil)
			l.obey(c.then, &reason)
			if cause, _ := l.ended(); cause != c.want || (l.work.Err() != nil) != (c.want != whyNot) {
				t.Errorf("the cause is %q, the work ended: %v", cause, l.work.Err())
			}
		})
	}
}
