package enrol

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/accounts/tokens"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// holder is who keeps a factory's name from another host, as a refusal names it.
type holder struct {
	Agent           string    `json:"agent"`
	Host            string    `json:"host"`
	Since           time.Time `json:"since"`
	LastHeartbeatAt time.Time `json:"last_heartbeat_at"`
	// StaleAt is when the name is free where no heartbeat comes until then.
	StaleAt time.Time `json:"stale_at"`

	id    ids.ID
	stale bool
}

// takeOver sees to it that the agents of a factory live on one host. While one of another
// host gives signs of life, the registration is refused; those that are stale lose the factory with
// their leases and tokens, so that a host that comes back does not work in it beside the new
// one. Hosts that do not say who they are are taken for any.
func (r *registering) takeOver() error {
	if r.in.Factory.Host == "" || r.factory.isNew {
		return nil
	}
	others, err := holdersElsewhereTx(r)
	if err != nil {
		return err
	}
	for _, h := range others {
		if !h.stale {
			return refuseElsewhere(r.in.Factory.Name, h)
		}
	}
	for _, h := range others {
		if h.id == r.agent.ID {
			continue // a new boot of it is superseded anyway
		}
		if err := r.outdate(h); err != nil {
			return err
		}
	}
	return nil
}

func refuseElsewhere(factory string, h holder) error {
	return fault.New(fault.FactoryElsewhere, "The factory %s lives on the host %s since %s; its agent %s was last heard of at %s. "+
		"Take another name for one of the two, or end the worker there.", factory, h.Host, h.Since.Format(time.RFC3339), h.Agent,
		h.LastHeartbeatAt.Format(time.RFC3339)).With("held_by", h)
}

// outdate ends what a stale agent of another host has.
func (r *registering) outdate(h holder) error {
	given, err := r.release(h.id, r.in.Factory.Name+" lives on another host now", lease.All)
	if err != nil {
		return err
	}
	generation, err := q.AgentOutdate(r.ctx, r.tx, r.who.Workspace, h.id)
	if err != nil {
		return err
	}
	if err := tokens.RevokeAgentTx(r.ctx, r.tx, r.who.Workspace, h.id, tokens.EndedSuperseded, generation); err != nil {
		return err
	}
	r.outdated = append(r.outdated, h.id)
	return eventlog.RecordTx(r.ctx, r.tx, r.who, eventlog.AgentSuperseded, map[string]any{"agent": h.Agent, "leases": given})
}

// forgetOutdated lets the claims of agents that have lost their factory look anew.
func (s *Service) forgetOutdated(agents []ids.ID) {
	for _, a := range agents {
		s.waiters.Forget(a)
	}
}
