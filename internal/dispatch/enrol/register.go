package enrol

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/fleet/pools"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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
// Faults: FactoryElsewhere while the factory lives on another host; Forbidden outside the enrolment token's scope, and for an agent or a
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
	if err := in.CheckRoles(who.Roles); err != nil {
		return Registered{}, err
	}
	r := &registering{ctx: ctx, who: who, in: in, host: in.Factory.Host, jobs: s.jobs}
	if err := s.db.In(ctx, db.Workspace(who.Workspace), r.run); err != nil {
		return Registered{}, err
	}
	metrics.Registrations.Inc()
	s.waiters.Forget(r.saved.ID)
	s.forgetOutdated(r.outdated)
	if r.endsTokens || len(r.outdated) > 0 {
		s.wake.Publish(tokens.RevokedTopic(who.Workspace))
	}
	s.effects.Publish(who.Workspace, []ids.ID{r.factory.id})
	s.effects.AfterCommit(ctx, who.Workspace, r.given...)
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
	ctx context.Context // lives as long as the call
	tx  db.Tx
	who tenancy.Principal
	in  fleet.Registration
	// host is where it registers, as it was said: in may have it without a secret.
	host string

	jobs *jobs.Service
	belongings
	saved      fleet.Agent
	generation int64
	endsTokens bool           // those that the agent had
	given      []lease.Change // jobs that it, and agents that lost their factory, had to give back
	outdated   []ids.ID       // the latter
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
		if err = r.takeOver(); err != nil {
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
	if err = q.FactoryBegin(r.ctx, tx, r.who.Workspace, r.factory.id); err != nil {
		return err
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
		f.enrolment = enrolmentToken(r.who)
	}
	var pool *ids.ID
	if name := r.in.Factory.Pool; name != "" {
		id, err := pools.JoinTx(r.ctx, r.tx, r.who, name, r.in.Factory.Name)
		if err != nil {
			return err
		}
		pool = &id
	}
	return describeFactoryTx(r.ctx, r.tx, r.who.Workspace, f, pool, r.in.Factory)
}

// supersede ends what an earlier boot of the agent held, or what a new enrolment
// token does not reach.
func (r *registering) supersede() error {
	old := r.agent
	switch {
	case old.ID == ids.Nil, old.BootID == r.in.BootID && old.enrolledBy(r.who):
		return nil
	case old.BootID == r.in.BootID:
		r.endsTokens = true
		_, err := r.release(old.ID, r.in.Agent+" registered with another token", r.outOfReach)
		return err
	}
	r.endsTokens = true
	given, err := r.release(old.ID, r.in.Agent+" was started again", lease.All)
	if err != nil {
		return err
	}
	return eventlog.RecordTx(r.ctx, r.tx, r.who, eventlog.AgentSuperseded, map[string]any{"agent": r.in.Agent, "leases": given})
}

// release gives back those leases of an agent that concern somebody, and says how many.
func (r *registering) release(agent ids.ID, why string, concerned func(jobs.Job) bool) (int, error) {
	given, err := lease.ReleaseTx(r.ctx, r.tx, r.who, agent, why, concerned)
	r.given = append(r.given, given...)
	return len(given), err
}

// enrolledBy reports whether the agent registered with this token before.
func (a agentRow) enrolledBy(who tenancy.Principal) bool {
	if a.EnrolmentID == nil {
		return who.Token == ids.Nil
	}
	return *a.EnrolmentID == who.Token
}

// outOfReach reports whether the token does not reach a job.
func (r *registering) outOfReach(j jobs.Job) bool { return !lease.InScope(r.who.Scope, j) }

// upsertAgent reports false where an agent of this name was made by somebody else
// since it was looked for.
func (r *registering) upsertAgent() (bool, error) {
	id := r.agent.ID
	if id == ids.Nil {
		id = ids.New()
	}
	generation, ok, err := saveAgent(r.ctx, r.tx, r.who, id, r.factory.id, r.in, r.endsTokens)
	if err != nil || !ok {
		return false, err
	}
	r.generation = generation
	r.saved, err = fleet.AgentTx(r.ctx, r.tx, r.who.Workspace, r.in.Agent)
	return true, err
}
