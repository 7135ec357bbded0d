package recovery

import (
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Counts are what one round of recovery did.
type Counts struct {
	TakenBack    int `json:"leases_taken_back"`
	Promoted     int `json:"jobs_promoted"`
	Warned       int `json:"warned"`
	TimedOut     int `json:"timed_out"`
	CyclesFailed int `json:"cycles_failed"`
}

// Recover does all that the coordinator does, once, in one workspace. What
// cannot be done does not keep the rest from it. Forbidden unless who may run
// the fleet.
func (s *Service) Recover(ctx context.Context, who tenancy.Principal) (Counts, error) {
	if !who.Can(tenancy.RunFleet) {
		return Counts{}, fault.New(fault.Forbidden, "Only owners and admins recover the fleet.")
	}
	var r Counts
	var failed error
	for _, step := range []struct {
		count *int
		do    func(context.Context, ids.ID) (int, error)
	}{
		{&r.TakenBack, func(ctx context.Context, w ids.ID) (int, error) { return s.reapWorkspace(ctx, w, lease.MaxSwept) }},
		{&r.TimedOut, func(ctx context.Context, w ids.ID) (int, error) { return s.lateIn(ctx, w, leasesToTimeOut, s.timeOut) }},
		{&r.Warned, func(ctx context.Context, w ids.ID) (int, error) { return s.lateIn(ctx, w, leasesToWarn, s.warn) }},
		{&r.CyclesFailed, s.failCycles},
		{&r.Promoted, s.promoteDue},
		{&r.Promoted, s.effects.PromoteIndependent},
		{&r.Promoted, s.promoteFreed},
	} {
		n, err := step.do(ctx, who.Workspace)
		*step.count += n
		failed = errors.Join(failed, err)
	}
	return r, failed
}
