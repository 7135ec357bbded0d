package handlertest

import (
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Write adds lines to the log of a job, in the other process.
func (d *Desk) Write(agent tenancy.Principal, j jobs.Job, lines ...joblog.Line) {
	d.t.Helper()
	if _, err := d.Elsewhere.WriteLogs(d.t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, lines); err != nil {
		d.t.Fatal(err)
	}
}

// Working returns a job that an agent works on.
func (d *Desk) Working() (tenancy.Principal, jobs.Job) {
	d.t.Helper()
	d.Job("Alpha")
	agent := d.Agent("claude-1")
	return agent, d.Claim(agent)
}
