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
type Publisher interface {
	Publish(topics ...string)
}

// Topic is published when a workspace's fleet has changed in a way that shows:
// an agent came, went, or took or ended a job.
func Topic(workspace ids.ID) string { return "fleet:" + workspace.String() }

// SeatTopic is published when a factory has got a free seat, or is given jobs
// again.
func SeatTopic(workspace, factory ids.ID) string {
	return "seat:" + workspace.String() + ":" + factory.String()
}

// Service is what people and tools do with the fleet.
type Service struct {
	db   *db.DB
	wake Publisher
}

// NewService returns the fleet kept in d.
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

// Reach reads what of the fleet decides where jobs with these needs could run: the
// factories, and of their living agents one without a name for each kind that makes
// a difference. Route queries it with one of the needs; Free and IdleAgents of
// its fits mean nothing. Of a thousand agents Snapshot costs many times as much.
func (s *Service) Reach(ctx context.Context, who tenancy.Principal, needs ...Needs) (Snapshot, error) {
	var snap Snapshot
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var err error
		if snap.Factories, err = factoriesTx(ctx, tx, who.Workspace); err != nil {
			return err
		}
		lacking := []ids.ID{}
		for _, f := range snap.Factories {
			if f.lacksAny(needs) {
				lacking = append(lacking, f.ID)
			}
		}
		of, err := agentKindsTx(ctx, tx, who.Workspace, lacking)
		if err != nil {
			return err
		}
		for i := range snap.Factories {
			f := &snap.Factories[i]
			if f.Agents = of[f.ID]; len(f.Agents) > 0 {
				f.Health = Healthy
			}
		}
		return nil
	}, db.Snapshot)
	return snap, err
}

// illness orders healths, the best first.
var illness = map[Health]int{Healthy: 0, Warn: 1, Stale: 2, Dead: 3, Ended: 3}

// add counts an agent in to its factory's health.
func (f *Factory) add(a Agent, snap Snapshot) {
	a.Health = a.HealthAt(snap.Now)
	f.Agents = append(f.Agents, a)
	if a.LastHeartbeatAt.After(f.LastBeatAt) {
		f.LastBeatAt = a.LastHeartbeatAt
	}
	if a.Health.lives() && illness[a.Health] < illness[f.Health] {
		f.Health = a.Health
	}
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

// SetDraining lets a factory take no new claims, or take them again; current
// jobs may end. Asking for what is so already changes nothing.
func (s *Service) SetDraining(ctx context.Context, who tenancy.Principal, name string, draining bool) (Factory, error) {
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		changed, err := setDrainingTx(ctx, tx, who.Workspace, name, draining, who.Name)
		if err != nil || !changed {
			return err
		}
		kind := eventlog.FactoryUndrained
		if draining {
			kind = eventlog.FactoryDrained
		}
		return eventlog.RecordTx(ctx, tx, who, kind, map[string]string{"factory": name},
			eventlog.Change{Field: "draining", Old: !draining, New: draining})
	})
	if err != nil {
		return Factory{}, err
	}
	f, err := s.Factory(ctx, who, name)
	if err == nil {
		s.wake.Publish(Topic(who.Workspace), eventlog.Topic(who.Workspace), SeatTopic(who.Workspace, f.ID))
	}
	return f, err
}
