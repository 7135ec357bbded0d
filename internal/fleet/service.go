package fleet

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Publisher wakes whoever waits for a topic, in every process.
type Publisher interface{ Publish(topics ...string) }

// Topic is published when a workspace's fleet has changed visibly: an agent registered or
// ended, or took or ended a job.
func Topic(workspace ids.ID) string { return "fleet:" + workspace.String() }

// SeatTopic is published when a factory has got a free seat, or takes jobs again.
func SeatTopic(workspace, factory ids.ID) string {
	return "seat:" + workspace.String() + ":" + factory.String()
}

// Service reads the fleet, and drains factories.
type Service struct {
	db   *db.DB
	wake Publisher
}

// NewService returns the service of the fleet in d.
func NewService(d *db.DB, wake Publisher) *Service {
	return &Service{db: d, wake: wake}
}

// Snapshot reads the whole fleet of a workspace.
func (s *Service) Snapshot(ctx context.Context, who tenancy.Principal) (Snapshot, error) {
	var snap Snapshot
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		snap, err = SnapshotTx(ctx, tx, who.Workspace)
		return err
	}, db.Snapshot)
	return snap, err
}

// ByHealth counts the workspace's agents, each health by name.
func (s *Service) ByHealth(ctx context.Context, who tenancy.Principal) (map[Health]int, error) {
	counts := map[Health]int{Healthy: 0, Warn: 0, Stale: 0, Dead: 0, Ended: 0}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		return countHealthsTx(ctx, tx, who.Workspace, counts)
	})
	if err != nil {
		return nil, fmt.Errorf("count agents: %w", err)
	}
	return counts, nil
}

// ReducedSnapshot reads a snapshot that is enough for Route with one of the needs: all factories,
// and one nameless agent for each distinct set of capabilities of their live agents. Free and
// IdleAgents of its fits are not meaningful. It is much cheaper than Snapshot for large fleets.
func (s *Service) ReducedSnapshot(ctx context.Context, who tenancy.Principal, needs ...Needs) (Snapshot, error) {
	var snap Snapshot
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var err error
		if snap.Factories, err = factoriesTx(ctx, tx, who.Workspace); err != nil {
			return err
		}
		needAgents := []ids.ID{}
		for _, f := range snap.Factories {
			if f.lacksAny(needs) {
				needAgents = append(needAgents, f.ID)
			}
		}
		agentsByFactory, err := agentKindsTx(ctx, tx, who.Workspace, needAgents)
		if err != nil {
			return err
		}
		for i := range snap.Factories {
			f := &snap.Factories[i]
			if f.Agents = agentsByFactory[f.ID]; len(f.Agents) > 0 {
				f.Health = Healthy
			}
		}
		return nil
	}, db.Snapshot)
	return snap, err
}

// Agent reads one agent by name. NotFound where the workspace has none.
func (s *Service) Agent(ctx context.Context, who tenancy.Principal, name string) (Agent, error) {
	var agent Agent
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		agent, err = AgentTx(ctx, tx, who.Workspace, name)
		return err
	})
	return agent, err
}

// Factory reads one factory by name. NotFound where the workspace has none.
func (s *Service) Factory(ctx context.Context, who tenancy.Principal, name string) (Factory, error) {
	snap, err := s.Snapshot(ctx, who)
	if err != nil {
		return Factory{}, err
	}
	for _, f := range snap.Factories {
		if f.Name == name {
			return f, nil
		}
	}
	return Factory{}, fault.New(fault.NotFound, "There is no factory %.64s in this workspace.", name)
}

// SetDraining stops a factory from taking new claims, or lets it take them again; current
// jobs may end. A second call with the same value has no effect. Faults: Forbidden; NotFound.
func (s *Service) SetDraining(ctx context.Context, who tenancy.Principal, name string, draining bool) (Factory, error) {
	if !who.Can(tenancy.RunFleet) {
		return Factory{}, fault.New(fault.Forbidden, "Only owners and admins drain factories.")
	}
	changed := false
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		changed, err = setDrainingTx(ctx, tx, who.Workspace, name, draining, who.Name)
		if err != nil || !changed {
			return err
		}
		event := eventlog.FactoryUndrained
		if draining {
			event = eventlog.FactoryDrained
		}
		return eventlog.RecordTx(ctx, tx, who, event, map[string]string{"factory": name},
			eventlog.Change{Field: "draining", Old: !draining, New: draining})
	})
	if err != nil {
		return Factory{}, err
	}
	f, err := s.Factory(ctx, who, name)
	if err == nil && changed {
		s.wake.Publish(Topic(who.Workspace), eventlog.Topic(who.Workspace), SeatTopic(who.Workspace, f.ID))
	}
	return f, err
}
