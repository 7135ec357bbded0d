package lease

import (
	"context"
	"encoding/json"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// GraceSeconds is how long an agent has to answer a directive before it is applied
// without it.
const GraceSeconds = 60

// DirectTx directs the holder of a job to cancel or to pause it, and returns the job. A
// cancel replaces a pause, either of them a warning and a request for the seat, and a person's pause
// that of a loop, which would take its own back. Any other second call changes nothing, nor does a
// pause of what is to be cancelled. The event says the payload.
func DirectTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Locked, directive, reason string, payload json.RawMessage) (
	jobs.Job, error,
) {
	had := job.Lease
	takesOver := who.Kind != tenancy.KindSystem && had.DirectiveBy.Kind == tenancy.KindSystem || had.GivesSeat()
	if had.Directive == Cancel || had.Directive == directive && !takesOver {
		return job.Job, nil
	}
	if err := writeDirective(ctx, tx, who, job.ID, directive, reason); err != nil {
		return jobs.Job{}, err
	}
	kind := map[string]eventlog.Type{Cancel: eventlog.JobCancelRequested, Pause: eventlog.JobPauseRequested}[directive]
	e := eventlog.Event{Type: kind, JobID: &job.ID, Epoch: &job.Epoch, Payload: payload}
	if had.Directive != directive {
		e.Changes = []eventlog.Change{{Field: "directive", Old: had.Directive, New: directive}}
	}
	if err := AppendEvent(ctx, tx, who, e); err != nil {
		return jobs.Job{}, err
	}
	return jobs.LoadTx(ctx, tx, who.Workspace, job.ID.String())
}

// ApplyDirective returns the decision that a directive calls for, once its job is to be
// taken from the agent. ok is false where there is none: a request for the seat is obeyed by a
// release alone.
func ApplyDirective(j jobs.Job, why string) (d jobs.Decision, e AttemptEnd, ok bool, err error) {
	if !j.Lease.IsDirectedToStop() {
		return d, e, false, nil
	}
	switch j.Lease.Directive {
	case Cancel:
		d, err = j.Cancel(j.Lease.DirectiveReason)
		e = AttemptEnd{Outcome: Cancelled, Error: why}
	case Pause:
		d, err = j.Pause()
		e = AttemptEnd{Outcome: Paused, Error: why}
	default:
		return d, e, false, nil
	}
	d.DecidedBy = j.Lease.DirectiveBy
	return d, e, true, err
}
