package jobs

import (
	"context"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The kinds of jobs that the system alone makes. What such a job is to do stands in the
// system's own rows and travels in its claim, as an order.
const (
	KindMerge  = "merge"
	KindVerify = "verify"
)

// IsSystemKind reports whether the system alone makes jobs of a kind, in whatever case it is
// written.
func IsSystemKind(kind string) bool {
	return strings.EqualFold(kind, KindMerge) || strings.EqualFold(kind, KindVerify)
}

// System is a job that the system makes for an order.
type System struct {
	New
	// Permit runs first in the transaction that makes the job, and may refuse it.
	Permit func(ctx context.Context, tx db.Tx) error
	// Record runs last, with the job, and writes what its order is made of.
	Record func(ctx context.Context, tx db.Tx, made Job) error
}

// CreateSystem makes a job of a system kind together with what its order is made of, both or
// neither. Faults as of Create, and those of Permit and Record.
func (s *Service) CreateSystem(ctx context.Context, who tenancy.Principal, in System) (Job, error) {
	created, err := s.createAll(ctx, who, nil, creation{in: []New{in.New}, system: &in})
	if err != nil {
		return Job{}, err
	}
	return created.Jobs[0], nil
}

// checkKind refuses the kinds that are the system's.
func (n New) checkKind(p fault.Problems, field string) {
	if IsSystemKind(n.Kind) {
		p.Add(field, "It must be another one: the system alone makes jobs of kind %s.", strings.ToLower(n.Kind))
	}
}

// peoplesFields are what people may change of a job that the system made: where and when it
// stands in the queue, not what it does.
var peoplesFields = []string{"priority", "phase", "tags", "status", "wait_reason"}

// requireOwn refuses a change of what a job of a system kind does, where it does it, and by
// whom.
func (d Decision) requireOwn() error {
	if !IsSystemKind(d.Before.Kind) {
		return nil
	}
	p := fault.Problems{}
	for _, c := range d.changes() {
		if !slices.Contains(peoplesFields, c.Field) {
			p.Add(c.Field, "It must stay as it is: the system made %s. Its priority, phase and tags may change.", d.Before.Key)
		}
	}
	return p.Err()
}

// Can reports whether the trigger leads anywhere from the job's status. A job that the system
// made is neither retried nor completed by hand.
func (j Job) Can(by Trigger) bool {
	return Can(j.Status, by) && j.requireNotSystem(by) == nil
}

// requireNotSystem refuses a trigger by which people decide what came of a job: of one that
// the system made that is the factory's report, and the system's to conclude from.
func (j Job) requireNotSystem(by Trigger) error {
	if !IsSystemKind(j.Kind) || by != ByRetry && by != ByFinish {
		return nil
	}
	return fault.New(fault.InvalidTransition,
		"%s is a job of kind %s, which the system made, and cannot be %s. Decide about the job it is for.",
		j.Key, j.Kind, by.participle()).With("status", string(j.Status))
}
