package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// Registered is the answer to a registration.
type Registered struct {
	Agent          fleet.Agent
	Token          string
	TokenExpiresAt time.Time
}

// Register makes an agent known, or describes it anew. A boot id other than the
// last one supersedes that boot: its leases are given back and its token ends.
//
// Faults: Forbidden outside the enrolment token's scope; Validation.
func (s *Service) Register(ctx context.Context, who tenancy.Principal, in fleet.Registration) (Registered, error) {
	if !who.Can(tenancy.Enrol) {
		return Registered{}, fault.New(fault.Forbidden, "Agents register with an enrolment token.")
	}
	in = in.Defaults()
	if err := in.Check(who.Scope); err != nil {
		return Registered{}, err
	}
	var given []change
	var factory ids.ID
	var agent fleet.Agent
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		if factory, err = upsertFactory(ctx, tx, who, in.Factory); err != nil {
			return err
		}
		if given, err = supersede(ctx, tx, who, in); err != nil {
			return err
		}
		agent, err = upsertAgent(ctx, tx, who, in, factory)
		return err
	})
	if err != nil {
		return Registered{}, err
	}
	s.waiters.forget(agent.ID)
	s.published(who.Workspace, []ids.ID{factory})
	s.settled(ctx, who.Workspace, given...)
	token, expires, err := s.tokens.IssueAgentToken(tenancy.Principal{
		Kind: tenancy.KindAgent, Workspace: who.Workspace, Name: agent.Name, Agent: agent.ID,
		Factory: in.Factory.Name, Boot: in.BootID, Scope: who.Scope})
	if err != nil {
		return Registered{}, fmt.Errorf("issue agent token: %w", err)
	}
	return Registered{Agent: agent, Token: token, TokenExpiresAt: expires}, nil
}

func upsertFactory(ctx context.Context, tx db.Tx, who tenancy.Principal, in fleet.FactoryInfo) (ids.ID, error) {
	repos, err := encodeRepos(in.Repos)
	if err != nil {
		return ids.Nil, err
	}
	id, err := q.FactoryUpsert(ctx, tx, dbsqlc.FactoryUpsertParams{
		WorkspaceID: who.Workspace, ID: ids.New(), Name: in.Name, Os: in.OS, Host: in.Host,
		Engines: orEmpty(in.Engines), Capabilities: orEmpty(in.Capabilities), Repos: repos, Seats: int32(in.Seats), //nolint:gosec // 1..1000
	})
	if err != nil {
		return ids.Nil, fmt.Errorf("save factory: %w", err)
	}
	return id, nil
}

func encodeRepos(repos []fleet.Repo) (json.RawMessage, error) {
	if repos == nil {
		repos = []fleet.Repo{}
	}
	raw, err := json.Marshal(repos)
	if err != nil {
		return nil, fmt.Errorf("encode repos: %w", err)
	}
	return raw, nil
}

func orEmpty(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

// supersede ends what an earlier boot of the agent held.
func supersede(ctx context.Context, tx db.Tx, who tenancy.Principal, in fleet.Registration) ([]change, error) {
	old, err := q.AgentLock(ctx, tx, dbsqlc.AgentLockParams{WorkspaceID: who.Workspace, Name: in.Agent})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock agent: %w", err)
	}
	if old.BootID == in.BootID {
		return nil, nil
	}
	given, err := giveBackAll(ctx, tx, who, old.ID, in.Agent+" was started again")
	if err != nil {
		return nil, err
	}
	return given, fleetEvent(ctx, tx, who, eventlog.AgentSuperseded, map[string]any{"agent": in.Agent, "leases": len(given)})
}

// giveBackAll ends every lease of an agent, in the order in which all lock.
func giveBackAll(ctx context.Context, tx db.Tx, who tenancy.Principal, agent ids.ID, why string) ([]change, error) {
	held, err := q.LeaseJobsOfAgent(ctx, tx, dbsqlc.LeaseJobsOfAgentParams{WorkspaceID: who.Workspace, AgentID: agent})
	if err != nil {
		return nil, fmt.Errorf("leases of agent: %w", err)
	}
	var given []change
	for _, id := range held {
		locked, err := jobs.LockTx(ctx, tx, who.Workspace, id.String())
		if err != nil {
			return nil, err
		}
		if locked.Lease == nil || locked.Lease.AgentID != agent {
			continue
		}
		d, e, err := backToQueue(locked, why)
		if err != nil {
			return nil, err
		}
		job, err := endTx(ctx, tx, who, d, e)
		if err != nil {
			return nil, err
		}
		given = append(given, change{before: locked.Job, after: job})
	}
	return given, nil
}

// backToQueue gives a job back without blame, unless a person asked for
// something else.
func backToQueue(job jobs.Locked, why string) (jobs.Decision, ending, error) {
	if d, outcome, ok, err := carryOut(job.Job); ok {
		return d, ending{outcome: outcome, error: why}, err
	}
	d, err := job.GiveBack(job.Now, why)
	return d, ending{outcome: outcomeReleased, error: why}, err
}

func upsertAgent(ctx context.Context, tx db.Tx, who tenancy.Principal, in fleet.Registration, factory ids.ID) (fleet.Agent, error) {
	params := dbsqlc.AgentUpsertParams{
		WorkspaceID: who.Workspace, ID: ids.New(), FactoryID: factory, Name: in.Agent, Model: in.Model,
		Capabilities: orEmpty(in.Capabilities), MaxConcurrentJobs: int32(in.MaxConcurrentJobs), //nolint:gosec // 1..100
		HeartbeatIntervalSeconds: int32(in.HeartbeatIntervalSeconds), BootID: in.BootID, Products: orEmpty(who.Scope.Products), //nolint:gosec // 1..3600
	}
	if in.StaleAfterSeconds != nil {
		after := int32(*in.StaleAfterSeconds) //nolint:gosec // 1..86400
		params.StaleAfterSeconds = &after
	}
	if _, err := q.AgentUpsert(ctx, tx, params); err != nil {
		return fleet.Agent{}, fmt.Errorf("save agent: %w", err)
	}
	err := fleetEvent(ctx, tx, who, eventlog.AgentRegistered, map[string]any{"agent": in.Agent, "factory": in.Factory.Name, "model": in.Model})
	if err != nil {
		return fleet.Agent{}, err
	}
	return fleet.AgentTx(ctx, tx, who.Workspace, in.Agent)
}

func fleetEvent(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, payload map[string]any) error {
	raw, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	return appendEvent(ctx, tx, who, eventlog.Event{Type: kind, Payload: raw})
}

// Terminate ends an agent: it gets no new jobs. Its current ones may end where
// graceful is set; else they go back at once.
func (s *Service) Terminate(ctx context.Context, who tenancy.Principal, name, reason string, graceful bool) (fleet.Agent, error) {
	if !who.Can(tenancy.RunFleet) {
		return fleet.Agent{}, fault.New(fault.Forbidden, "Only owners and admins end agents.")
	}
	var agent fleet.Agent
	var given []change
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		id, err := q.AgentTerminate(ctx, tx, dbsqlc.AgentTerminateParams{WorkspaceID: who.Workspace, Name: name, Reason: reason})
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.NotFound, "There is no agent %.64s in this workspace.", name)
		}
		if err != nil {
			return fmt.Errorf("end agent: %w", err)
		}
		if !graceful {
			if given, err = giveBackAll(ctx, tx, who, id, name+" was ended by "+who.Name); err != nil {
				return err
			}
		}
		err = fleetEvent(ctx, tx, who, eventlog.AgentTerminated, map[string]any{"agent": name, "reason": reason, "graceful": graceful})
		if err != nil {
			return err
		}
		agent, err = fleet.AgentTx(ctx, tx, who.Workspace, name)
		return err
	})
	if err == nil {
		s.published(who.Workspace, nil)
		s.settled(ctx, who.Workspace, given...)
	}
	return agent, err
}
