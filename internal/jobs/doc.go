// Package jobs knows the unit of work: what a job is, which status may follow
// which and through what, and how a change of status is written together with
// its row in job_ready and its event.
//
// A job is made waiting, ready or blocked. Only a ready job can be claimed; the
// claim makes it assigned, the first sign of work running. From there the agent
// hands it in (in_review or completed), gives it back, fails it, or loses it;
// a person reviews, pauses, blocks, cancels, retries and archives. The table in
// status.go is the whole of it.
//
// Every change is decided by a pure method on Job, or on Locked where the clock has a say, and
// written by Save, which is guarded by the status and epoch that the decision was made on.
package jobs
