package lease

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Agent is an agent as a call needs it.
type Agent struct {
	Draining   bool
	boot       string
	generation int64
}

// Agents are the agents of calls, by their ids.
type Agents map[ids.ID]Agent

// Current returns the agent of a caller; false where its boot was replaced.
func (a Agents) Current(who tenancy.Principal) (Agent, bool) {
	agent, ok := a[who.Agent]
	return agent, ok && agent.boot == who.Boot && agent.generation <= who.Generation
}

// TouchTx counts a call as a sign of life, and refuses the token of a boot that was
// replaced.
func TouchTx(ctx context.Context, tx db.Tx, who tenancy.Principal) (Agent, error) {
	agents, err := TouchManyTx(ctx, tx, who.Workspace, []tenancy.Principal{who})
	if err != nil {
		return Agent{}, err
	}
	agent, ok := agents.Current(who)
	if !ok {
		return agent, Superseded(who.Name)
	}
	return agent, nil
}

// TouchManyTx is TouchTx for many calls, of which none is refused.
func TouchManyTx(ctx context.Context, tx db.Tx, workspace ids.ID, callers []tenancy.Principal) (Agents, error) {
	return readAgents(ctx, tx, workspace, callers)
}
