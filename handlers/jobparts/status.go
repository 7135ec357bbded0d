package jobparts

import (
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
)

// asked are what a job becomes that an agent was asked for and has not done yet.
var asked = map[string]jobs.Status{string(jobs.ByPause): status.Pausing, string(jobs.ByCancel): status.Cancelling}

// ShownStatus returns a job's status as people see it: a job whose agent was asked to stop is
// "Cancelling…", not "Running".
func ShownStatus(j jobs.Job) jobs.Status {
	if j.Lease != nil {
		if pending, ok := asked[j.Lease.Directive]; ok {
			return pending
		}
	}
	return j.Status
}
