package job

import (
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
)

// asked are the statuses of a job whose agent got a directive and has not obeyed yet.
var asked = map[string]jobs.Status{string(jobs.ByPause): status.Pausing, string(jobs.ByCancel): status.Cancelling}

// ShownStatus returns a job's status as people see it: a job whose agent has to stop is
// "Cancelling…", not "Running".
func ShownStatus(j jobs.Job) jobs.Status {
	if j.Lease.IsDirectedToStop() {
		if pending, ok := asked[j.Lease.Directive]; ok {
			return pending
		}
	}
	return j.Status
}
