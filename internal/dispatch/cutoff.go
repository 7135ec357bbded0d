package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/accounts/tokens"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

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
	var given []change
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
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
	s.publish(who.Workspace, nil)
	s.afterCommit(ctx, who.Workspace, given...)
	return agent, nil
}

func cutOffTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name, reason string) ([]change, error) {
	cut, err := q.AgentCutOff(ctx, tx, dbsqlc.AgentCutOffParams{WorkspaceID: who.Workspace, Name: name, Reason: reason})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "There is no agent %.64s in this workspace.", name)
	}
	if err != nil {
		return nil, fmt.Errorf("cut off agent: %w", err)
	}
	given, err := releaseLeases(ctx, tx, who, cut.ID, name+" was cut off by "+who.Name, all)
	if err != nil {
		return nil, err
	}
	if err := tokens.RevokeAgentTx(ctx, tx, who.Workspace, cut.ID, tokens.EndedCutOff, cut.Generation); err != nil {
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
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		names, err = q.AgentsOfEnrolment(ctx, tx, dbsqlc.AgentsOfEnrolmentParams{WorkspaceID: who.Workspace, EnrolmentID: token})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("agents of an enrolment token: %w", err)
	}
	for i, name := range names {
		if _, err := s.CutOff(ctx, who, name, reason); err != nil {
			return i, err
		}
	}
	return len(names), nil
}
