package handlertest

import (
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Write adds lines to the log of a job, in the other process.
func (w *Workspace) Write(agent tenancy.Principal, j jobs.Job, lines ...joblog.Line) {
	w.t.Helper()
	if _, err := w.OtherProcess.WriteLogs(w.t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, lines); err != nil {
		w.t.Fatal(err)
	}
}

// TellSteps adds steps to the transcript of an attempt, in the other process.
func (w *Workspace) TellSteps(agent tenancy.Principal, j jobs.Job, steps ...transcript.Step) {
	w.t.Helper()
	if _, err := w.OtherProcess.WriteSteps(w.t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, steps); err != nil {
		w.t.Fatal(err)
	}
}

// Working returns a job that an agent works on.
func (w *Workspace) Working() (tenancy.Principal, jobs.Job) {
	w.t.Helper()
	w.Job("Alpha")
	agent := w.Agent("claude-1")
	return agent, w.Claim(agent)
}
