package lease

import (
	"bytes"
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Attempt is how the attempt of a lease ended.
type Attempt struct {
	agent   string
	outcome string
	digest  []byte
}

// endedBy reports whether the lease was ended by its agent's own call.
func (a Attempt) endedBy(who tenancy.Principal) bool {
	return a.digest != nil && a.agent == who.Name
}

// IsRepeatedBy reports whether the lease was ended by the same call of its agent.
func (a Attempt) IsRepeatedBy(who tenancy.Principal, digest []byte) bool {
	return a.endedBy(who) && bytes.Equal(a.digest, digest)
}

// Conflict says why the lease is not the agent's any more. All answers mean: stop, do
// not retry.
func (a Attempt) Conflict(who tenancy.Principal, j jobs.Job, epoch int64) error {
	switch {
	case epoch > j.Epoch:
		return fault.New(fault.StaleEpoch, "%s has not had an epoch %d.", j.Key, epoch)
	case epoch == j.Epoch && a.outcome == Cancelled:
		return fault.New(fault.Cancelled, "%s was cancelled.", j.Key)
	case epoch == j.Epoch && a.outcome == Paused:
		return fault.New(fault.Paused, "%s was paused; its checkpoint is kept.", j.Key)
	case a.endedBy(who):
		return fault.New(fault.AlreadyEnded, "You ended the lease on %s: %s.", j.Key, a.outcome).With("outcome", a.outcome)
	case epoch < j.Epoch:
		return fault.New(fault.StaleEpoch, "%s has been given to somebody else since epoch %d.", j.Key, epoch)
	case j.Lease != nil && j.Lease.AgentID != who.Agent:
		return fault.New(fault.StaleEpoch, "%s is held by another agent.", j.Key)
	}
	return fault.New(fault.LeaseExpired, "The lease on %s has ended.", j.Key)
}

// Conflict reads how the attempt of a lease ended and says why the lease is not the
// agent's any more.
func Conflict(ctx context.Context, tx db.Tx, who tenancy.Principal, j jobs.Job, epoch int64) error {
	attempt, err := AttemptTx(ctx, tx, who.Workspace, j.ID, epoch)
	if err != nil {
		return err
	}
	return attempt.Conflict(who, j, epoch)
}
