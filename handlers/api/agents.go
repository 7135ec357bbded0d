package api

import (
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
)

// agentHandlers answer the calls about agents.
type agentHandlers struct{ *Deps }

// RegisterAgent makes an agent known and gives it a token.
func (s *agentHandlers) RegisterAgent(ctx context.Context, r RegisterAgentRequestObject) (RegisterAgentResponseObject, error) {
	if r.Body.Name != nil && *r.Body.Name != r.Agent {
		return nil, fault.Invalid("name", "The address names another agent: %s.", r.Agent)
	}
	registered, err := s.Dispatch.Register(ctx, principal(ctx), registration(r.Agent, *r.Body))
	return RegisterAgent200JSONResponse{Agent: fleetOf{principal(ctx)}.agent(registered.Agent), Token: registered.Token,
		TokenExpiresAt: registered.TokenExpiresAt.UTC()}, err
}

// Heartbeat takes an agent's sign of life.
func (s *agentHandlers) Heartbeat(ctx context.Context, r HeartbeatRequestObject) (HeartbeatResponseObject, error) {
	said, err := beat(r.Agent, *r.Body)
	if err != nil {
		return nil, err
	}
	used, err := s.reportUsage(ctx, value(r.Body.Leases))
	if err != nil {
		return nil, err
	}
	beaten, err := s.Dispatch.Heartbeat(ctx, principal(ctx), said)
	answer := beatAnswerModel(beaten)
	answer.UsageResults = used
	return Heartbeat200JSONResponse(answer), err
}

// reportUsage books the usage that a heartbeat reports of its leases. Without any it does
// nothing.
func (s *agentHandlers) reportUsage(ctx context.Context, leases []ProgressReport) (*UsageResults, error) {
	var lines []report.UsageLine
	for _, l := range leases {
		of, err := usageLines(lease.Ref{Job: l.Job, Epoch: l.Epoch}, value(l.Usage))
		if err != nil {
			return nil, err
		}
		lines = append(lines, of...)
	}
	switch n := len(lines); {
	case n == 0:
		return nil, nil
	case n > report.MaxUsage:
		return nil, fault.Invalid("leases", "They must have at most %d entries of usage together (they have %d).", report.MaxUsage, n)
	}
	results, err := recordUsage(ctx, s.Dispatch, lines)
	return &results, err
}

// ListAgents gives a page of the agents that the filters take, by name.
func (s *agentHandlers) ListAgents(ctx context.Context, r ListAgentsRequestObject) (ListAgentsResponseObject, error) {
	snap, err := s.Fleet.Snapshot(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	fitting := slices.DeleteFunc(listAgents(snap), func(a fleet.Agent) bool { return !fits(a, r.Params) })
	shown, next, err := pageByName(fitting, r.Params.Cursor, r.Params.Limit, func(a fleet.Agent) string { return a.Name })
	return ListAgents200JSONResponse{Items: mapSlice(shown, fleetOf{principal(ctx)}.agent), NextCursor: next}, err
}

func fits(a fleet.Agent, p ListAgentsParams) bool {
	return (p.Status == nil || a.Status == string(*p.Status)) && (p.Health == nil || a.Health == fleet.Health(*p.Health)) &&
		(p.Factory == nil || a.Factory == *p.Factory) &&
		(p.Product == nil || len(a.Products) == 0 || slices.Contains(a.Products, *p.Product))
}

// GetAgent reads one agent.
func (s *agentHandlers) GetAgent(ctx context.Context, r GetAgentRequestObject) (GetAgentResponseObject, error) {
	agent, err := s.Fleet.Agent(ctx, principal(ctx), r.Agent)
	return GetAgent200JSONResponse(fleetOf{principal(ctx)}.agent(agent)), err
}

// GetAgentHealth says how an agent is, by the database's clock.
func (s *agentHandlers) GetAgentHealth(ctx context.Context, r GetAgentHealthRequestObject) (GetAgentHealthResponseObject, error) {
	snap, err := s.Fleet.Snapshot(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	all := listAgents(snap)
	at := slices.IndexFunc(all, func(a fleet.Agent) bool { return a.Name == r.Agent })
	if at < 0 {
		return nil, fault.New(fault.NotFound, "There is no agent %.64s in this workspace.", r.Agent)
	}
	return GetAgentHealth200JSONResponse(healthModel(all[at], snap)), nil
}

// TerminateAgent ends an agent.
func (s *agentHandlers) TerminateAgent(ctx context.Context, r TerminateAgentRequestObject) (TerminateAgentResponseObject, error) {
	agent, err := s.Dispatch.Terminate(ctx, principal(ctx), r.Agent, r.Body.Reason, value(r.Body.Graceful))
	return TerminateAgent200JSONResponse(fleetOf{principal(ctx)}.agent(agent)), err
}

// EndAgent takes note that an agent's process ends.
func (s *agentHandlers) EndAgent(ctx context.Context, r EndAgentRequestObject) (EndAgentResponseObject, error) {
	return EndAgent204Response{}, s.Dispatch.EndAgent(ctx, principal(ctx), r.Agent)
}

// factoryHandlers answer the calls about factories.
type factoryHandlers struct{ *Deps }

// ListFactories gives a page of the factories, by name.
func (s *factoryHandlers) ListFactories(ctx context.Context, r ListFactoriesRequestObject) (ListFactoriesResponseObject, error) {
	snap, err := s.Fleet.Snapshot(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	shown, next, err := pageByName(snap.Factories, r.Params.Cursor, r.Params.Limit, func(f fleet.Factory) string { return f.Name })
	return ListFactories200JSONResponse{Items: mapSlice(shown, fleetOf{principal(ctx)}.factory), NextCursor: next}, err
}

// GetFactory reads one factory.
func (s *factoryHandlers) GetFactory(ctx context.Context, r GetFactoryRequestObject) (GetFactoryResponseObject, error) {
	factory, err := s.Fleet.Factory(ctx, principal(ctx), r.Factory)
	return GetFactory200JSONResponse(fleetOf{principal(ctx)}.factory(factory)), err
}

// DrainFactory gives a factory no new jobs.
func (s *factoryHandlers) DrainFactory(ctx context.Context, r DrainFactoryRequestObject) (DrainFactoryResponseObject, error) {
	factory, err := s.Fleet.SetDraining(ctx, principal(ctx), r.Factory, true)
	return DrainFactory200JSONResponse(fleetOf{principal(ctx)}.factory(factory)), err
}

// UndrainFactory gives a factory jobs again.
func (s *factoryHandlers) UndrainFactory(ctx context.Context, r UndrainFactoryRequestObject) (UndrainFactoryResponseObject, error) {
	factory, err := s.Fleet.SetDraining(ctx, principal(ctx), r.Factory, false)
	return UndrainFactory200JSONResponse(fleetOf{principal(ctx)}.factory(factory)), err
}

// RemoveFactory forgets a factory whose agents are dead.
func (s *factoryHandlers) RemoveFactory(ctx context.Context, r RemoveFactoryRequestObject) (RemoveFactoryResponseObject, error) {
	return RemoveFactory204Response{}, s.Dispatch.RemoveFactory(ctx, principal(ctx), r.Factory)
}
