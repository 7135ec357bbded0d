package report

import (
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// MaxUsage is how many entries one report of usage may have.
	MaxUsage = 200
	// maxBatchedUsage is how many of them a report in a batch may have: the others of the
	// batch wait for it.
	maxBatchedUsage = 32
	// maxUsageJob is how long the key or the id of a job may be.
	maxUsageJob = 64
)

// UsageLine is a usage entry, and the lease that it was spent under. Of the entry
// the server fills in its Booking.
type UsageLine struct {
	Lease lease.Ref
	Entry spend.Entry
}

// UsageAnswer is what became of one of them: Refused says why it was not kept, and
// is nil otherwise.
type UsageAnswer struct {
	Outcome spend.Outcome
	Refused *fault.Error
}

// usageCall is a report of usage, and who makes it. refused are the lines that
// cannot be kept whatever the database says, by their place.
type usageCall struct {
	who     tenancy.Principal
	lines   []UsageLine
	refused map[int]*fault.Error
}

// RecordUsage keeps what models were used for, at most 200 lines, and answers each
// of them: one that is refused keeps no other from being recorded. A line counts
// for a lease that the agent has or ever had, for the money was spent; one of
// another agent's is refused (StaleEpoch), also one that nobody had, and so is a
// job that is not there (NotFound). What is recorded leaves no event, makes no
// lease longer, and counts as a sign of life.
//
// Faults of the whole: Validation for the number of lines, Superseded, Forbidden.
func (s *Service) RecordUsage(ctx context.Context, who tenancy.Principal, lines []UsageLine) ([]UsageAnswer, error) {
	if err := lease.RequireAgent(who); err != nil {
		return nil, err
	}
	if len(lines) < 1 || len(lines) > MaxUsage {
		return nil, fault.Invalid("entries", "It must have 1 to %d entries (it has %d).", MaxUsage, len(lines))
	}
	call := newUsageCall(who, lines)
	if len(lines) > maxBatchedUsage {
		return s.usages.Alone(ctx, who.Workspace, call)
	}
	return s.usages.Do(ctx, who.Workspace, call)
}

func newUsageCall(who tenancy.Principal, lines []UsageLine) usageCall {
	call := usageCall{who: who, lines: lines, refused: map[int]*fault.Error{}}
	for i, l := range lines {
		if err := l.check(); err != nil {
			call.refused[i] = fault.From(err)
		}
	}
	return call
}

// check refuses what can be refused without a query, with all fields
// that are wrong.
func (l UsageLine) check() error {
	fields := fault.Problems{}
	for _, err := range []error{l.Lease.Check(), l.Entry.Check()} {
		var refused *fault.Error
		if errors.As(err, &refused) {
			for field, problem := range refused.Fields {
				fields.Add(field, "%s", problem)
			}
		}
	}
	fields.Text("job", l.Lease.Job, maxUsageJob)
	return fields.Err()
}

// Usage reads what all attempts on a job have used, and what each of those with
// these epochs did. A job that used nothing, or is not there, has used nothing.
func (s *Service) Usage(ctx context.Context, who tenancy.Principal, job ids.ID, epochs ...int64) (used spend.JobUsage, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		used, err = spend.OfAttemptsTx(ctx, tx, who.Workspace, job, epochs)
		return err
	}, db.Snapshot)
	return used, err
}

// LeaseUsage reads what was used under leases; those that used nothing are not in
// there.
func (s *Service) LeaseUsage(ctx context.Context, who tenancy.Principal, leases []spend.Lease) (
	used map[spend.Lease]spend.Usage, err error,
) {
	if len(leases) == 0 {
		return nil, nil
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		used, err = spend.OfLeasesTx(ctx, tx, who.Workspace, leases)
		return err
	})
	return used, err
}
