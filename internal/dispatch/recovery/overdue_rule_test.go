package recovery

import (
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(minutes int) *time.Time { t := now.Add(-time.Duration(minutes) * time.Minute); return &t }

// The rules are checked again under the lease's lock, whatever the search found.
func TestWhoIsWarned(t *testing.T) {
	twenty := 20
	for name, c := range map[string]struct {
		estimate *int
		lease    lockedLease
		want     bool
	}{
		"30 minutes over the estimate":  {&twenty, lockedLease{ClaimedAt: *ago(50)}, true},
		"29 minutes over the estimate":  {&twenty, lockedLease{ClaimedAt: *ago(49)}, false},
		"no estimate":                   {nil, lockedLease{ClaimedAt: *ago(5000)}, false},
		"warned already":                {&twenty, lockedLease{ClaimedAt: *ago(50), WarnedAt: ago(1)}, false},
		"asked to pause":                {&twenty, lockedLease{ClaimedAt: *ago(50), Directive: lease.Pause}, false},
		"its lease has ended meanwhile": {&twenty, lockedLease{ClaimedAt: *ago(50), ExpiresAt: *ago(1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.lease.Now = now
			if c.lease.ExpiresAt.IsZero() {
				c.lease.ExpiresAt = now.Add(time.Minute)
			}
			if got := overdue(jobs.Job{Spec: jobs.Spec{EstimatedMinutes: c.estimate}}, c.lease); got != c.want {
				t.Errorf("overdue = %t", got)
			}
		})
	}
}

func TestWhoseTimeIsOut(t *testing.T) {
	for name, c := range map[string]struct {
		warned, progressed *time.Time
		want               bool
	}{
		"never warned":                      {nil, ago(60), false},
		"warned 9 minutes ago":              {ago(9), nil, false},
		"warned 10 minutes ago":             {ago(10), nil, true},
		"progress before the warning":       {ago(10), ago(30), true},
		"progress 9 minutes ago":            {ago(60), ago(9), false},
		"progress 10 minutes ago":           {ago(60), ago(10), true},
		"no progress, only word of a pulse": {ago(60), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := timeIsOut(lockedLease{WarnedAt: c.warned, ProgressAt: c.progressed, Now: now}); got != c.want {
				t.Errorf("timeIsOut = %t", got)
			}
		})
	}
}

// Twenty lost jobs come back each second, a minute is the longest wait.
func TestTheSpreadOfAMassLoss(t *testing.T) {
	for n, want := range map[int]time.Duration{100: 5 * time.Second, 1200: time.Minute, 100_000: time.Minute} {
		if got := spreadFor(n); got != want {
			t.Errorf("spreadOf(%d) = %s; want %s", n, got, want)
		}
	}
}
