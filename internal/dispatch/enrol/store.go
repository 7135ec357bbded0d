package enrol

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

type factoryRow struct {
	id         ids.ID
	enrolment  *ids.ID
	isNew      bool
	secretHeld bool // its agents hold a job with secrets
}

// agentRow is an agent that is locked.
type agentRow dbsqlc.AgentLockRow

// enrolmentToken returns the enrolment token that somebody calls with.
func enrolmentToken(who tenancy.Principal) *ids.ID {
	if who.Token == ids.Nil {
		return nil
	}
	return &who.Token
}

// lockFactoryTx locks a factory, and makes it where it is not there. One that is
// removed while the lock is waited for is made again.
func lockFactoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal, name string) (factoryRow, error) {
	for {
		made, err := q.FactoryEnsure(ctx, tx, who.Workspace, ids.New(), name, enrolmentToken(who))
		if err != nil {
			return factoryRow{}, err
		}
		row, err := q.FactoryOwner(ctx, tx, who.Workspace, name)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return factoryRow{}, err
		}
		return factoryRow{id: row.ID, enrolment: row.EnrolmentID, isNew: made > 0, secretHeld: row.SecretHeld}, nil
	}
}

// removal is a factory that is to be removed, locked with its agents.
type removal struct {
	id     ids.ID
	agents []dbsqlc.FactoryAgentsLockRow
	lease  string // the key of a job that it holds, "" where there is none
}

// lockForRemovalTx locks a factory and then its agents. Fault: NotFound.
func lockForRemovalTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (f removal, err error) {
	f.id, err = q.FactoryLock(ctx, tx, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return f, fault.New(fault.NotFound, "There is no factory %.64s in this workspace.", name)
	}
	if err != nil {
		return f, err
	}
	f.agents, err = q.FactoryAgentsLock(ctx, tx, workspace, f.id)
	if err != nil {
		return f, err
	}
	of := make([]ids.ID, len(f.agents))
	for i, a := range f.agents {
		of[i] = a.ID
	}
	f.lease, err = q.FactoryLease(ctx, tx, workspace, f.id, of)
	if err != nil {
		return f, err
	}
	return f, nil
}

func describeFactoryTx(ctx context.Context, tx db.Tx, workspace ids.ID, f factoryRow, pool *ids.ID, in fleet.FactoryInfo) error {
	repos, err := encodeRepos(in.Repos)
	if err != nil {
		return err
	}
	unavailable, rescued, err := encodeWithheld(in)
	if err != nil {
		return err
	}
	return q.FactoryDescribe(ctx, tx, dbsqlc.FactoryDescribeParams{
		WorkspaceID: workspace, ID: f.id, Os: in.OS, Host: in.Host, EnrolmentID: f.enrolment,
		Engines: orEmpty(in.Engines), Capabilities: orEmpty(in.Capabilities), Repos: repos,
		Unavailable: unavailable, Rescued: rescued, Seats: in.Seats, PoolID: pool,
	})
}

// lockAgentTx locks an agent; it has no id where there is none of this name.
func lockAgentTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (agentRow, error) {
	row, err := q.AgentLock(ctx, tx, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return agentRow{}, nil
	}
	return agentRow(row), err
}

// ownerTx reads an enrolment token as an owner.
func ownerTx(ctx context.Context, tx db.Tx, workspace ids.ID, enrolment *ids.ID) (owner, error) {
	if enrolment == nil {
		return owner{}, nil
	}
	row, err := q.EnrolmentReach(ctx, tx, workspace, *enrolment)
	if errors.Is(err, pgx.ErrNoRows) {
		return owner{}, nil
	}
	if err != nil {
		return owner{}, err
	}
	return owner{token: *enrolment, reach: tenancy.Scope(row)}, nil
}

// saveAgent writes an agent, new or known, and returns its generation; ok is false
// where an agent of this name was made by somebody else since it was looked for.
func saveAgent(ctx context.Context, tx db.Tx, who tenancy.Principal, id, factory ids.ID, in fleet.Registration, endsTokens bool) (
	generation int64, ok bool, err error,
) {
	params := dbsqlc.AgentUpsertParams{
		WorkspaceID: who.Workspace, ID: id, FactoryID: factory, Name: in.Agent, Model: in.Model, Provider: cmp.Or(in.Provider,
			fleet.GuessProvider(in.Model)),
		Capabilities: orEmpty(in.Capabilities), MaxConcurrentJobs: in.MaxConcurrentJobs,
		HeartbeatIntervalSeconds: in.HeartbeatIntervalSeconds, BootID: in.BootID,
		Products: orEmpty(who.Scope.Products), EndsTokens: endsTokens, EnrolmentID: enrolmentToken(who), Roles: orEmpty(in.Roles),
		Host: in.Factory.Host,
	}
	if in.StaleAfterSeconds != nil {
		after := *in.StaleAfterSeconds
		params.StaleAfterSeconds = &after
	}
	saved, err := q.AgentUpsert(ctx, tx, params)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return saved.Generation, true, nil
}

// updateFactoryTx writes what an agent says of its factory, unless jobs with secrets
// are held for the factories that it returns then: it has to be redacted first.
func updateFactoryTx(ctx context.Context, tx db.Tx, who tenancy.Principal, f fleet.FactoryInfo, redacted bool) ([]ids.ID, error) {
	repos, err := encodeRepos(f.Repos)
	if err != nil {
		return nil, err
	}
	unavailable, rescued, err := encodeWithheld(f)
	if err != nil {
		return nil, err
	}
	return q.FactoryUpdate(ctx, tx, dbsqlc.FactoryUpdateParams{
		WorkspaceID: who.Workspace, Name: f.Name, Os: f.OS, Host: f.Host, Engines: orEmpty(f.Engines),
		Capabilities: orEmpty(f.Capabilities), Repos: repos, Unavailable: unavailable, Rescued: rescued,
		Seats:       f.Seats,
		EnrolmentID: enrolmentToken(who), ScopeProducts: orEmpty(who.Scope.Products), ScopeCapabilities: orEmpty(who.Scope.Capabilities),
		AgentID: who.Agent, Redacted: redacted,
	})
}

// terminate ends an agent by its name. Fault: NotFound.
func terminate(ctx context.Context, tx db.Tx, workspace ids.ID, name, reason string, graceful bool) (agent ids.ID, err error) {
	agent, err = q.AgentTerminate(ctx, tx, graceful, reason, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return agent, noSuchAgent(name)
	}
	if err != nil {
		return agent, err
	}
	return agent, nil
}

// cutOff ends an agent at once by its name. Fault: NotFound.
func cutOff(ctx context.Context, tx db.Tx, workspace ids.ID, name, reason string) (agent ids.ID, generation int64, err error) {
	cut, err := q.AgentCutOff(ctx, tx, reason, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return ids.Nil, 0, noSuchAgent(name)
	}
	if err != nil {
		return ids.Nil, 0, err
	}
	return cut.ID, cut.Generation, nil
}

func noSuchAgent(name string) error {
	return fault.New(fault.NotFound, "There is no agent %.64s in this workspace.", name)
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

// encodeWithheld encodes what a host does not offer, and what it has moved aside.
func encodeWithheld(in fleet.FactoryInfo) (unavailable, rescued json.RawMessage, err error) {
	if in.Unavailable == nil {
		in.Unavailable = []fleet.Unavailable{}
	}
	if in.Rescued == nil {
		in.Rescued = []fleet.Rescued{}
	}
	unavailable, err = json.Marshal(in.Unavailable)
	if err != nil {
		return nil, nil, fmt.Errorf("encode what is unavailable: %w", err)
	}
	rescued, err = json.Marshal(in.Rescued)
	if err != nil {
		return nil, nil, fmt.Errorf("encode what was rescued: %w", err)
	}
	return unavailable, rescued, nil
}

func orEmpty(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}
