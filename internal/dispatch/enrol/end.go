package enrol

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// EndAgent takes note that an agent's process ends: what it still holds goes back at once, it is
// given nothing until it registers again, and nobody waits for its heartbeats. Its factory has
// ended when none of its agents lives.
//
// Faults: Forbidden for another agent's name; Superseded for a boot that was replaced.
func (s *Service) EndAgent(ctx context.Context, who tenancy.Principal, name string) error {
	if err := lease.RequireAgent(who); err != nil {
		return err
	}
	if name != who.Name {
		return fault.New(fault.Forbidden, "This token belongs to the agent %s.", who.Name)
	}
	var given []lease.Change
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		given, err = endTx(ctx, tx, who)
		return err
	})
	if err == nil {
		s.waiters.Forget(who.Agent)
		s.effects.Publish(who.Workspace, nil)
		s.effects.AfterCommit(ctx, who.Workspace, given...)
	}
	return err
}

// endTx locks the factory and then the agent: of two agents that end at once the second sees
// that the first has ended.
func endTx(ctx context.Context, tx db.Tx, who tenancy.Principal) ([]lease.Change, error) {
	factory, err := holdFactoryTx(ctx, tx, who)
	if err != nil {
		return nil, err
	}
	if err := endAgentTx(ctx, tx, who); err != nil {
		return nil, err
	}
	given, err := lease.ReleaseTx(ctx, tx, who, who.Agent, who.Name+" has ended", lease.All)
	if err != nil {
		return nil, err
	}
	if err := q.FactoryEnd(ctx, tx, who.Workspace, factory); err != nil {
		return nil, err
	}
	return given, eventlog.RecordTx(ctx, tx, who, eventlog.AgentEnded,
		map[string]any{"agent": who.Name, "factory": who.Factory, "leases": len(given)})
}
