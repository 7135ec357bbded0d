package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

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
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		snap, err = SnapshotTx(ctx, tx, who.Workspace)
		return err
	})
	return snap, err
}

// SnapshotTx is Snapshot in the caller's transaction.
func SnapshotTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Snapshot, error) {
	var snap Snapshot
	agents, err := q.AgentList(ctx, tx, workspace)
	if err != nil {
		return snap, fmt.Errorf("list agents: %w", err)
	}
	// After the agents: each statement sees what was committed before it, and an
	// agent's factory is there before the agent is.
	factories, err := q.FactoryList(ctx, tx, workspace)
	if err != nil {
		return snap, fmt.Errorf("list factories: %w", err)
	}
	leases, err := q.LeaseCounts(ctx, tx, workspace)
	if err != nil {
		return snap, fmt.Errorf("count leases: %w", err)
	}
	taken := map[ids.ID]int{} // by factory and by agent
	for _, l := range leases {
		taken[l.FactoryID] += int(l.Taken)
		taken[l.AgentID] += int(l.Taken)
	}
	at := map[ids.ID]int{}
	for i, r := range factories {
		f, err := factoryFrom(r)
		if err != nil {
			return snap, err
		}
		f.Taken = taken[f.ID]
		snap.Now, at[f.ID] = r.Now, i
		snap.Factories = append(snap.Factories, f)
	}
	slices.SortFunc(agents, func(a, b dbsqlc.Agent) int { return cmp.Compare(a.Name, b.Name) })
	for _, r := range agents {
		i, known := at[r.FactoryID]
		if !known {
			continue // it was deleted meanwhile
		}
		f := &snap.Factories[i]
		f.add(agentFrom(r, f.Name, taken[r.ID]), snap)
	}
	return snap, nil
}

// ByHealth counts the workspace's agents, each health by name.
func (s *Service) ByHealth(ctx context.Context, who tenancy.Principal) (map[Health]int, error) {
	counts := map[Health]int{Healthy: 0, Warn: 0, Stale: 0, Dead: 0}
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := q.AgentCountPerHealth(ctx, tx, who.Workspace)
		for _, r := range rows {
			counts[Health(r.Health)] = int(r.Agents)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count agents: %w", err)
	}
	return counts, nil
}

// Reach reads what of the fleet decides where jobs with these needs could run: the
// factories, and of their living agents one without a name for each kind that makes
// a difference. It is asked by Route with one of the needs; Free and IdleAgents of
// its fits mean nothing. Of a thousand agents Snapshot costs many times as much.
func (s *Service) Reach(ctx context.Context, who tenancy.Principal, needs ...Needs) (Snapshot, error) {
	var snap Snapshot
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		factories, err := q.FactoryList(ctx, tx, who.Workspace)
		if err != nil {
			return fmt.Errorf("list factories: %w", err)
		}
		lacking := []ids.ID{}
		for _, r := range factories {
			f, err := factoryFrom(r)
			if err != nil {
				return err
			}
			snap.Factories = append(snap.Factories, f)
			if f.lacksAny(needs) {
				lacking = append(lacking, f.ID)
			}
		}
		kinds, err := q.AgentKinds(ctx, tx, dbsqlc.AgentKindsParams{WorkspaceID: who.Workspace, Factories: lacking})
		if err != nil {
			return fmt.Errorf("list kinds of agents: %w", err)
		}
		of := map[ids.ID][]Agent{}
		for _, k := range kinds {
			of[k.FactoryID] = append(of[k.FactoryID], Agent{Capabilities: k.Capabilities, Health: Healthy, Terminated: k.Ended})
		}
		for i := range snap.Factories {
			f := &snap.Factories[i]
			if f.Agents = of[f.ID]; len(f.Agents) > 0 {
				f.Health = Healthy
			}
		}
		return nil
	})
	return snap, err
}

// illness orders healths, the best first.
var illness = map[Health]int{Healthy: 0, Warn: 1, Stale: 2, Dead: 3}

// add counts an agent in to its factory's health.
func (f *Factory) add(a Agent, snap Snapshot) {
	a.Health = a.HealthAt(snap.Now)
	f.Agents = append(f.Agents, a)
	if a.LastHeartbeatAt.After(f.LastBeatAt) {
		f.LastBeatAt = a.LastHeartbeatAt
	}
	if illness[a.Health] < illness[f.Health] {
		f.Health = a.Health
	}
}

func factoryFrom(r dbsqlc.FactoryListRow) (Factory, error) {
	f := Factory{
		ID: r.ID, Name: r.Name, OS: r.Os, Host: r.Host, Engines: r.Engines, Capabilities: r.Capabilities,
		Seats: int(r.Seats), Draining: r.Draining, DrainedBy: r.DrainedBy, DrainedAt: r.DrainedAt,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Health: Dead,
	}
	if err := json.Unmarshal(r.Repos, &f.Repos); err != nil {
		return f, fmt.Errorf("repos of factory %s: %w", r.Name, err)
	}
	return f, nil
}

func agentFrom(r dbsqlc.Agent, factory string, taken int) Agent {
	a := Agent{
		ID: r.ID, Name: r.Name, Model: r.Model, Factory: factory, Capabilities: r.Capabilities, Products: r.Products,
		MaxConcurrentJobs: int(r.MaxConcurrentJobs), HeartbeatIntervalSeconds: int(r.HeartbeatIntervalSeconds),
		StaleAfterSeconds: wide(r.StaleAfterSeconds), BootID: r.BootID, Status: r.Status, MemoryMB: wide(r.MemoryMb),
		LastHeartbeatAt: r.LastHeartbeatAt, Terminated: r.TerminatedAt != nil, Graceful: r.EndedGracefully,
		TerminateReason: r.TerminateReason,
		CutOff:          r.CutOffAt != nil,
		Taken:           taken, CreatedAt: r.CreatedAt, RegisteredAt: r.RegisteredAt,
	}
	if r.CpuPercent != nil {
		load := float64(*r.CpuPercent)
		a.CPUPercent = &load
	}
	return a
}

func wide(v *int32) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}

// Agent reads one agent by name. NotFound where the workspace has none.
func (s *Service) Agent(ctx context.Context, who tenancy.Principal, name string) (Agent, error) {
	var agent Agent
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		agent, err = AgentTx(ctx, tx, who.Workspace, name)
		return err
	})
	return agent, err
}

// AgentTx is Agent in the caller's transaction.
func AgentTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (Agent, error) {
	r, err := q.AgentByName(ctx, tx, dbsqlc.AgentByNameParams{WorkspaceID: workspace, Name: name})
	if errors.Is(err, pgx.ErrNoRows) {
		return Agent{}, fault.New(fault.NotFound, "There is no agent %.64s in this workspace.", name)
	}
	if err != nil {
		return Agent{}, fmt.Errorf("read agent: %w", err)
	}
	a := agentFrom(r.Agent, r.Factory, int(r.Taken))
	a.Health = a.HealthAt(r.Now)
	return a, nil
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
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		_, err := q.FactorySetDraining(ctx, tx, dbsqlc.FactorySetDrainingParams{
			WorkspaceID: who.Workspace, Name: name, Draining: draining, Actor: who.Name})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("drain factory: %w", err)
		}
		kind := eventlog.FactoryUndrained
		if draining {
			kind = eventlog.FactoryDrained
		}
		payload, err := json.Marshal(map[string]string{"factory": name})
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		return eventlog.AppendTx(ctx, tx, who.Workspace, eventlog.Event{Type: kind, Actor: who.Actor(),
			Payload: payload,
			Changes: []eventlog.Change{{Field: "draining", Old: !draining, New: draining}}})
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
