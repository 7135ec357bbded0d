package jobs

import (
	"testing"
	"time"
)

// A time-out raises the priority by one step, up to the most urgent there is, and
// the backoff of failures never passes a day.
func TestATimeOutRaisesThePriorityWithinItsBounds(t *testing.T) {
	now := time.Now()
	for before, want := range map[int]int{0: 1, 5: 6, 9: 10, 10: 10} {
		j := Job{Status: Running, Spec: Spec{Priority: before, MaxRetries: 3}}
		d, err := Locked{j, now}.TimeOut("slow")
		if err != nil || d.After.Priority != want || d.After.Status != Ready || d.After.FailureCount != 1 || d.After.NotBefore != nil {
			t.Errorf("from %d: %+v, %v; want priority %d", before, d.After, err, want)
		}
	}
	if d := Backoff(300, 60); d > 24*time.Hour || d < 12*time.Hour {
		t.Errorf("after 60 failures the wait is %s", d)
	}
}
