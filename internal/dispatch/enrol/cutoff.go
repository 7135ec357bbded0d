package enrol

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Terminate ends an agent: it gets no new jobs. Its current ones may end where
// graceful is set; else they go back at once.
func (s *Service) Terminate(ctx context.Context, who tenancy.Principal, name, reason string, graceful bool) (fleet.Agent, error) {
	if !who.Can(tenancy.RunFleet) {
		return fleet.Agent{}, fault.New(fault.Forbidden, "Only owners and admins end agents.")
	}
	var agent fleet.Agent
	var given []lease.Change
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		id, err := terminate(ctx, tx, who.Workspace, name, reason, graceful)
		if err != nil {
			return err
		}
		if !graceful {
			if given, err = lease.ReleaseTx(ctx, tx, who, id, name+" was ended by "+who.Name, lease.All); err != nil {
				return err
			}
		}
		err = eventlog.RecordTx(ctx, tx, who, eventlog.AgentTerminated,
			map[string]any{"agent": name, "reason": reason, "graceful": graceful})
		if err != nil {
			return err
		}
		agent, err = fleet.AgentTx(ctx, tx, who.Workspace, name)
		return err
	})
	if err == nil {
		s.effects.Publish(who.Workspace, nil)
		s.effects.AfterCommit(ctx, who.Workspace, given...)
	}
	return agent, err
}

// CutOff ends an agent and its tokens now: its jobs go back at once, and none of
// its calls is answered any more. The process may register again only as a new
// boot; who wants to keep that out revokes the enrolment token.
//
// Faults: Forbidden, NotFound.
func (s *Service) CutOff(ctx context.Context, who tenancy.Principal, name, reason string) (fleet.Agent, error) {
	if !who.Can(tenancy.RunFleet) {
		return fleet.Agent{}, fault.New(fault.Forbidden, "Only owners and admins cut agents off.")
	}
	var agent fleet.Agent
	var given []lease.Change
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		if given, err = cutOffTx(ctx, tx, who, name, reason); err != nil {
			return err
		}
		agent, err = fleet.AgentTx(ctx, tx, who.Workspace, name)
		return err
	})
	if err != nil {
		return fleet.Agent{}, err
	}
	s.wake.Publish(tokens.RevokedTopic(who.Workspace))
	s.effects.Publish(who.Workspace, nil)
	s.effects.AfterCommit(ctx, who.Workspace, given...)
	return agent, nil
}

func cutOffTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name, reason string) ([]lease.Change, error) {
	agent, generation, err := cutOff(ctx, tx, who.Workspace, name, reason)
	if err != nil {
		return nil, err
	}
	given, err := lease.ReleaseTx(ctx, tx, who, agent, name+" was cut off by "+who.Name, lease.All)
	if err != nil {
		return nil, err
	}
	if err := tokens.RevokeAgentTx(ctx, tx, who.Workspace, agent, tokens.EndedCutOff, generation); err != nil {
		return nil, err
	}
	return given, eventlog.RecordTx(ctx, tx, who, eventlog.AgentCutOff,
		map[string]any{"agent": name, "reason": reason, "leases": len(given)})
}

// CutOffEnrolled cuts off the agents that registered with an enrolment token, one
// after another, and returns how many. A failure leaves the rest as they are;
// asking again goes on with them.
//
// Fault: Forbidden.
func (s *Service) CutOffEnrolled(ctx context.Context, who tenancy.Principal, token ids.ID, reason string) (int, error) {
	if !who.Can(tenancy.RunFleet) {
		return 0, fault.New(fault.Forbidden, "Only owners and admins cut agents off.")
	}
	var names []string
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		names, err = q.AgentsOfEnrolment(ctx, tx, who.Workspace, token)
		return err
	})
	if err != nil {
		return 0, err
	}
	for i, name := range names {
		if _, err := s.CutOff(ctx, who, name, reason); err != nil {
			return i, err
		}
	}
	return len(names), nil
}
