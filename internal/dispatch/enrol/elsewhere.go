package enrol

import (
	"fmt"
	"time"

	"fleetboard/db/dbsqlc"
	"fleetboard/internal/accounts/tokens"
	"fleetboard/internal/dispatch/lease"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// holder is who keeps a factory's name from another host, as a refusal tells it.
type holder struct {
	Agent           string    `json:"agent"`
	Host            string    `json:"host"`
	Since           time.Time `json:"since"`
	LastHeartbeatAt time.Time `json:"last_heartbeat_at"`
	// StaleAt is when the name is free where no heartbeat comes until then.
	StaleAt time.Time `json:"stale_at"`
}

// takeOver sees to it that the agents of a factory live on one host. While one of another
// host is heard of, the registration is refused; those that are stale lose the factory with
// their leases and tokens, so that a host that comes back does not work in it beside the new
// one. Hosts that do not say who they are are taken for any.
func (r *registering) takeOver() error {
	if r.in.Factory.Host == "" || r.factory.isNew {
		return nil
	}
	others, err := q.FactoryElsewhere(r.ctx, r.tx, dbsqlc.FactoryElsewhereParams{WorkspaceID: r.who.Workspace, FactoryID: r.factory.id,
		Hosts: []string{r.host, r.in.Factory.Host}, Agent: r.in.Agent, BootID: r.in.BootID})
	if err != nil {
		return fmt.Errorf("read the hosts of a factory: %w", err)
	}
	for _, o := range others {
		if !o.Stale {
			return elsewhere(r.in.Factory.Name, o)
		}
	}
	for _, o := range others {
		if o.ID == r.agent.id {
			continue // a new boot of it is superseded anyway
		}
		if err := r.outdate(o); err != nil {
			return err
		}
	}
	return nil
}

func elsewhere(factory string, o dbsqlc.FactoryElsewhereRow) error {
	held := holder{Agent: o.Name, Host: o.Host, Since: o.RegisteredAt.UTC(), LastHeartbeatAt: o.LastHeartbeatAt.UTC(), StaleAt: o.StaleAt.UTC()}
	return fault.New(fault.FactoryElsewhere, "The factory %s lives on the host %s since %s; its agent %s was last heard of at %s. "+
		"Take another name for one of the two, or end the worker there.", factory, o.Host, held.Since.Format(time.RFC3339), o.Name,
		held.LastHeartbeatAt.Format(time.RFC3339)).With("held_by", held)
}

// outdate ends what a stale agent of another host has.
func (r *registering) outdate(o dbsqlc.FactoryElsewhereRow) error {
	given, err := r.release(o.ID, r.in.Factory.Name+" lives on another host now", lease.All)
	if err != nil {
		return err
	}
	generation, err := q.AgentOutdate(r.ctx, r.tx, dbsqlc.AgentOutdateParams{WorkspaceID: r.who.Workspace, ID: o.ID})
	if err != nil {
		return fmt.Errorf("end the tokens of an agent: %w", err)
	}
	if err := tokens.RevokeAgentTx(r.ctx, r.tx, r.who.Workspace, o.ID, tokens.EndedSuperseded, generation); err != nil {
		return err
	}
	r.outdated = append(r.outdated, o.ID)
	return eventlog.RecordTx(r.ctx, r.tx, r.who, eventlog.AgentSuperseded, map[string]any{"agent": o.Name, "leases": given})
}

// begin notes that the factory has not ended.
func (r *registering) begin() error {
	err := q.FactoryBegin(r.ctx, r.tx, dbsqlc.FactoryBeginParams{WorkspaceID: r.who.Workspace, ID: r.factory.id})
	if err != nil {
		return fmt.Errorf("begin factory: %w", err)
	}
	return nil
}

// forgetOutdated lets the claims of agents that have lost their factory look anew.
func (s *Service) forgetOutdated(agents []ids.ID) {
	for _, a := range agents {
		s.waiters.Forget(a)
	}
}
