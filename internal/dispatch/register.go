package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/accounts"
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
// last one supersedes that boot: its leases are given back and its tokens end.
// With another enrolment token the same boot gets new tokens too, and gives back
// what the new one does not reach.
//
// Faults: Forbidden outside the enrolment token's scope; Superseded for a boot
// that a person cut off; Validation.
func (s *Service) Register(ctx context.Context, who tenancy.Principal, in fleet.Registration) (Registered, error) {
	if !who.Can(tenancy.Enrol) {
		return Registered{}, fault.New(fault.Forbidden, "Agents register with an enrolment token.")
	}
	in = in.Defaults()
	if err := in.Check(who.Scope); err != nil {
		return Registered{}, err
	}
	r := &registering{ctx: ctx, who: who, in: in}
	if err := s.db.InWorkspace(ctx, who.Workspace, r.run); err != nil {
		return Registered{}, err
	}
	s.waiters.forget(r.agent.ID)
	if r.endsTokens {
		s.wake.Publish(accounts.RevokedTopic(who.Workspace))
	}
	s.published(who.Workspace, []ids.ID{r.factory})
	s.settled(ctx, who.Workspace, r.given...)
	token, expires, err := s.tokens.IssueAgentToken(tenancy.Principal{
		Kind: tenancy.KindAgent, Workspace: who.Workspace, Name: r.agent.Name, Token: who.Token, Agent: r.agent.ID,
		Factory: in.Factory.Name, Boot: in.BootID, Generation: r.generation, Scope: who.Scope})
	if err != nil {
		return Registered{}, fmt.Errorf("issue agent token: %w", err)
	}
	return Registered{Agent: r.agent, Token: token, TokenExpiresAt: expires}, nil
}

// registering is one registration inside its transaction.
type registering struct {
	ctx context.Context //nolint:containedctx // lives as long as the call
	tx  db.Tx
	who tenancy.Principal
	in  fleet.Registration

	factory    ids.ID
	agent      fleet.Agent
	generation int64
	endsTokens bool     // those that the agent had
	given      []change // jobs that it had to give back
}

func (r *registering) run(tx db.Tx) (err error) {
	r.tx = tx
	if r.factory, err = upsertFactory(r.ctx, tx, r.who, r.in.Factory); err != nil {
		return err
	}
	if err = r.supersede(); err != nil {
		return err
	}
	if err = r.upsertAgent(); err != nil {
		return err
	}
	if r.endsTokens {
		err = accounts.RevokeAgentTx(r.ctx, tx, r.who.Workspace, r.agent.ID, accounts.EndedSuperseded, r.generation)
		if err != nil {
			return err
		}
	}
	return fleetEvent(r.ctx, tx, r.who, eventlog.AgentRegistered,
		map[string]any{"agent": r.in.Agent, "factory": r.in.Factory.Name, "model": r.in.Model})
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

// supersede ends what an earlier boot of the agent held, or what a new enrolment
// token does not reach.
func (r *registering) supersede() error {
	old, err := q.AgentLock(r.ctx, r.tx, dbsqlc.AgentLockParams{WorkspaceID: r.who.Workspace, Name: r.in.Agent})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock agent: %w", err)
	}
	if err := r.mayTakeOver(old); err != nil {
		return err
	}
	if old.BootID == r.in.BootID {
		if old.EnrolmentID == nil || *old.EnrolmentID == r.who.Token {
			return nil
		}
		r.endsTokens = true
		r.given, err = giveBack(r.ctx, r.tx, r.who, old.ID, r.in.Agent+" registered with another token", r.outOfReach)
		return err
	}
	r.endsTokens = true
	if r.given, err = giveBack(r.ctx, r.tx, r.who, old.ID, r.in.Agent+" was started again", all); err != nil {
		return err
	}
	return fleetEvent(r.ctx, r.tx, r.who, eventlog.AgentSuperseded, map[string]any{"agent": r.in.Agent, "leases": len(r.given)})
}

// mayTakeOver refuses a token for one factory the agents of another one, whose
// work it would end, and a boot that a person cut off.
func (r *registering) mayTakeOver(old dbsqlc.AgentLockRow) error {
	if r.who.Scope.Factory != "" && old.FactoryID != r.factory && old.TerminatedAt == nil {
		return fault.New(fault.Forbidden, "There is an agent %s in another factory; this enrolment token is for %s only.",
			r.in.Agent, r.who.Scope.Factory)
	}
	if old.CutOffAt != nil && old.BootID == r.in.BootID {
		return fault.New(fault.Superseded, "%s was cut off by a person; this process is to stop.", r.in.Agent)
	}
	return nil
}

// outOfReach reports whether the token does not reach a job.
func (r *registering) outOfReach(j jobs.Job) bool {
	return len(r.who.Scope.Products) > 0 && !slices.Contains(r.who.Scope.Products, j.Product)
}

func all(jobs.Job) bool { return true }

// giveBack ends those leases of an agent that are concerned, in the order in which
// all lock.
func giveBack(ctx context.Context, tx db.Tx, who tenancy.Principal, agent ids.ID, why string, concerned func(jobs.Job) bool) ([]change, error) {
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
		if locked.Lease == nil || locked.Lease.AgentID != agent || !concerned(locked.Job) {
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

func (r *registering) upsertAgent() error {
	in := r.in
	params := dbsqlc.AgentUpsertParams{
		WorkspaceID: r.who.Workspace, ID: ids.New(), FactoryID: r.factory, Name: in.Agent, Model: in.Model,
		Capabilities: orEmpty(in.Capabilities), MaxConcurrentJobs: int32(in.MaxConcurrentJobs), //nolint:gosec // 1..100
		HeartbeatIntervalSeconds: int32(in.HeartbeatIntervalSeconds), BootID: in.BootID, //nolint:gosec // 1..3600
		Products: orEmpty(r.who.Scope.Products), EndsTokens: r.endsTokens,
	}
	if r.who.Token != ids.Nil {
		params.EnrolmentID = &r.who.Token
	}
	if in.StaleAfterSeconds != nil {
		after := int32(*in.StaleAfterSeconds) //nolint:gosec // 1..86400
		params.StaleAfterSeconds = &after
	}
	saved, err := q.AgentUpsert(r.ctx, r.tx, params)
	if err != nil {
		return fmt.Errorf("save agent: %w", err)
	}
	r.generation = saved.Generation
	r.agent, err = fleet.AgentTx(r.ctx, r.tx, r.who.Workspace, in.Agent)
	return err
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
			if given, err = giveBack(ctx, tx, who, id, name+" was ended by "+who.Name, all); err != nil {
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
