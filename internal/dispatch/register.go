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
	"fleetboard/internal/accounts/tokens"
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
// Faults: Forbidden outside the enrolment token's scope, and for an agent or a
// factory of another token that reaches further; Superseded for a boot that a
// person ended at once; Validation.
func (s *Service) Register(ctx context.Context, who tenancy.Principal, in fleet.Registration) (Registered, error) {
	if !who.Can(tenancy.Enrol) {
		return Registered{}, fault.New(fault.Forbidden, "Agents register with an enrolment token.")
	}
	in = in.Defaults()
	if err := in.Check(who.Scope); err != nil {
		return Registered{}, err
	}
	r := &registering{ctx: ctx, who: who, in: in, jobs: s.jobs}
	if err := s.db.InWorkspace(ctx, who.Workspace, r.run); err != nil {
		return Registered{}, err
	}
	s.waiters.Forget(r.saved.ID)
	if r.endsTokens {
		s.wake.Publish(tokens.RevokedTopic(who.Workspace))
	}
	s.publish(who.Workspace, []ids.ID{r.factory.id})
	s.afterCommit(ctx, who.Workspace, r.given...)
	token, expires, err := s.tokens.IssueAgentToken(tenancy.Principal{
		Kind: tenancy.KindAgent, Workspace: who.Workspace, Name: r.saved.Name, Token: who.Token, Agent: r.saved.ID,
		Factory: in.Factory.Name, Boot: r.in.BootID, Generation: r.generation, Scope: who.Scope, MaySubmit: who.MaySubmit})
	if err != nil {
		return Registered{}, fmt.Errorf("issue agent token: %w", err)
	}
	return Registered{Agent: r.saved, Token: token, TokenExpiresAt: expires}, nil
}

// registering is one registration inside its transaction.
type registering struct {
	ctx context.Context //nolint:containedctx // lives as long as the call
	tx  db.Tx
	who tenancy.Principal
	in  fleet.Registration

	jobs *jobs.Service
	belongings
	saved      fleet.Agent
	generation int64
	endsTokens bool     // those that the agent had
	given      []change // jobs that it had to give back
}

func (r *registering) run(tx db.Tx) (err error) {
	r.tx = tx
	for known := false; !known; {
		if r.belongings, err = belongingsTx(r.ctx, tx, r); err != nil {
			return err
		}
		if err = r.redact(); err != nil {
			return err
		}
		if err = r.check(r.who, r.in.Agent, r.in.Factory.Name, r.in.BootID); err != nil {
			return err
		}
		if err = r.supersede(); err != nil {
			return err
		}
		// Somebody else may have made an agent of this name meanwhile.
		if known, err = r.upsertAgent(); err != nil {
			return err
		}
	}
	if err = r.describe(); err != nil {
		return err
	}
	if r.endsTokens {
		err = tokens.RevokeAgentTx(r.ctx, tx, r.who.Workspace, r.saved.ID, tokens.EndedSuperseded, r.generation)
		if err != nil {
			return err
		}
	}
	return eventlog.RecordTx(r.ctx, tx, r.who, eventlog.AgentRegistered,
		map[string]any{"agent": r.in.Agent, "factory": r.in.Factory.Name, "model": r.in.Model})
}

// describe writes down what the factory offers, if the token may say so.
func (r *registering) describe() error {
	if !r.describes(r.who, r.in.Factory.Name) {
		return nil
	}
	f := r.factory
	if r.factoryOwner.token == ids.Nil {
		f.enrolment = enrolmentOf(r.who)
	}
	return describeFactoryTx(r.ctx, r.tx, r.who.Workspace, f, r.in.Factory)
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
func (r *registering) supersede() (err error) {
	old := r.agent
	switch {
	case old.id == ids.Nil, old.boot == r.in.BootID && old.isOf(r.who):
		return nil
	case old.boot == r.in.BootID:
		r.endsTokens = true
		r.given, err = releaseLeases(r.ctx, r.tx, r.who, old.id, r.in.Agent+" registered with another token", r.outOfReach)
		return err
	}
	r.endsTokens = true
	if r.given, err = releaseLeases(r.ctx, r.tx, r.who, old.id, r.in.Agent+" was started again", all); err != nil {
		return err
	}
	return eventlog.RecordTx(r.ctx, r.tx, r.who, eventlog.AgentSuperseded, map[string]any{"agent": r.in.Agent, "leases": len(r.given)})
}

// isOf reports whether the agent registered with this token before.
func (a agentRow) isOf(who tenancy.Principal) bool {
	if a.enrolment == nil {
		return who.Token == ids.Nil
	}
	return *a.enrolment == who.Token
}

// outOfReach reports whether the token does not reach a job.
func (r *registering) outOfReach(j jobs.Job) bool { return !inScope(r.who.Scope, j) }

func all(jobs.Job) bool { return true }

// releaseLeases ends those leases of an agent that are concerned, in the order in which
// all lock.
func releaseLeases(ctx context.Context, tx db.Tx, who tenancy.Principal, agent ids.ID, why string,
	concerned func(jobs.Job) bool) ([]change, error) {
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
		d, e, err := requeue(locked, why)
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

// requeue gives a job back without blame, unless a person asked for
// something else.
func requeue(job jobs.Locked, why string) (jobs.Decision, ending, error) {
	if d, outcome, ok, err := applyDirective(job.Job); ok {
		return d, ending{outcome: outcome, error: why}, err
	}
	d, err := job.GiveBack(job.Now, why)
	return d, ending{outcome: outcomeReleased, error: why}, err
}

// upsertAgent reports false where an agent of this name was made by somebody else
// since it was looked for.
func (r *registering) upsertAgent() (bool, error) {
	in, id := r.in, r.agent.id
	if id == ids.Nil {
		id = ids.New()
	}
	params := dbsqlc.AgentUpsertParams{
		WorkspaceID: r.who.Workspace, ID: id, FactoryID: r.factory.id, Name: in.Agent, Model: in.Model,
		Capabilities: orEmpty(in.Capabilities), MaxConcurrentJobs: int32(in.MaxConcurrentJobs), //nolint:gosec // 1..100
		HeartbeatIntervalSeconds: int32(in.HeartbeatIntervalSeconds), BootID: in.BootID, //nolint:gosec // 1..3600
		Products: orEmpty(r.who.Scope.Products), EndsTokens: r.endsTokens, EnrolmentID: enrolmentOf(r.who),
	}
	if in.StaleAfterSeconds != nil {
		after := int32(*in.StaleAfterSeconds) //nolint:gosec // 1..86400
		params.StaleAfterSeconds = &after
	}
	saved, err := q.AgentUpsert(r.ctx, r.tx, params)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("save agent: %w", err)
	}
	r.generation = saved.Generation
	r.saved, err = fleet.AgentTx(r.ctx, r.tx, r.who.Workspace, in.Agent)
	return true, err
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
		id, err := q.AgentTerminate(ctx, tx, dbsqlc.AgentTerminateParams{WorkspaceID: who.Workspace, Name: name,
			Reason: reason, Graceful: graceful})
		if errors.Is(err, pgx.ErrNoRows) {
			return fault.New(fault.NotFound, "There is no agent %.64s in this workspace.", name)
		}
		if err != nil {
			return fmt.Errorf("end agent: %w", err)
		}
		if !graceful {
			if given, err = releaseLeases(ctx, tx, who, id, name+" was ended by "+who.Name, all); err != nil {
				return err
			}
		}
		err = eventlog.RecordTx(ctx, tx, who, eventlog.AgentTerminated, map[string]any{"agent": name, "reason": reason, "graceful": graceful})
		if err != nil {
			return err
		}
		agent, err = fleet.AgentTx(ctx, tx, who.Workspace, name)
		return err
	})
	if err == nil {
		s.publish(who.Workspace, nil)
		s.afterCommit(ctx, who.Workspace, given...)
	}
	return agent, err
}
