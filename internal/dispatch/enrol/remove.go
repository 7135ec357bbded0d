package enrol

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// RemoveFactory forgets a factory whose agents are all dead, with its agents and
// their tokens. Attempts and the log keep the names. A process of such an agent that
// comes back registers anew, also as the same boot.
//
// Faults: Forbidden; NotFound; InUse while one of its agents is not dead, or a job
// that was given to the factory or its agents has a lease.
func (s *Service) RemoveFactory(ctx context.Context, who tenancy.Principal, name string) error {
	if !who.Can(tenancy.RunFleet) {
		return fault.New(fault.Forbidden, "Only owners and admins remove factories.")
	}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error { return removeFactoryTx(ctx, tx, who, name) })
	if err == nil {
		s.wake.Publish(tokens.RevokedTopic(who.Workspace))
		s.effects.Publish(who.Workspace, nil)
	}
	return err
}

func removeFactoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name string) error {
	f, err := lockForRemovalTx(ctx, tx, who.Workspace, name)
	if err != nil {
		return err
	}
	names := []string{}
	for _, a := range f.agents {
		if !a.Dead {
			return fault.New(fault.InUse, "%s has a live agent, %s. End it first, or wait until it is dead.", name, a.Name)
		}
		names = append(names, a.Name)
	}
	if f.lease != "" {
		return fault.New(fault.InUse, "%s still has a lease on %s. Try again when that has ended.", name, f.lease)
	}
	for _, a := range f.agents {
		if err := tokens.RevokeAgentTx(ctx, tx, who.Workspace, a.ID, tokens.EndedRemoved, a.Generation+1); err != nil {
			return err
		}
	}
	if err := q.FactoryDelete(ctx, tx, who.Workspace, f.id); err != nil {
		return err
	}
	return eventlog.RecordTx(ctx, tx, who, eventlog.FactoryRemoved, map[string]any{"factory": name, "agents": names})
}
