package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/natural"
)

var q = dbsqlc.New()

// SnapshotTx reads the whole fleet of a workspace.
func SnapshotTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Snapshot, error) {
	var snap Snapshot
	agents, err := q.AgentList(ctx, tx, workspace)
	if err != nil {
		return snap, err
	}
	// After the agents: each statement sees what was committed before it, and an
	// agent's factory is there before the agent is.
	factories, err := q.FactoryList(ctx, tx, workspace)
	if err != nil {
		return snap, err
	}
	leases, err := q.LeaseCounts(ctx, tx, workspace)
	if err != nil {
		return snap, err
	}
	if snap.Stops, err = StopsTx(ctx, tx, workspace); err != nil {
		return snap, err
	}
	taken, follows := map[ids.ID]int{}, map[ids.ID]int{} // by factory and by agent
	for _, l := range leases {
		taken[l.FactoryID] += l.Taken
		taken[l.AgentID] += l.Taken
		follows[l.AgentID] += l.Follows
		snap.Touches = snap.Touches || l.Touches
	}
	at := map[ids.ID]int{}
	slices.SortFunc(factories, func(a, b dbsqlc.FactoryListRow) int { return natural.Compare(a.Name, b.Name) })
	for i, r := range factories {
		f, err := factoryFrom(r)
		if err != nil {
			return snap, err
		}
		f.Taken = taken[f.ID]
		snap.Now, at[f.ID] = r.Now, i
		snap.Factories = append(snap.Factories, f)
	}
	slices.SortFunc(agents, func(a, b dbsqlc.AgentListRow) int { return natural.Compare(a.Agent.Name, b.Agent.Name) })
	for _, r := range agents {
		i, known := at[r.Agent.FactoryID]
		if !known {
			continue // it was deleted meanwhile
		}
		f := &snap.Factories[i]
		f.add(agentFrom(r.Agent, r.HeldUntil, f.Name, taken[r.Agent.ID], follows[r.Agent.ID]), snap.Now)
	}
	return snap, nil
}

// AgentTx reads one agent by name. NotFound where the workspace has none.
func AgentTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (Agent, error) {
	r, err := q.AgentByName(ctx, tx, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return Agent{}, fault.New(fault.NotFound, "There is no agent %.64s in this workspace.", name)
	}
	if err != nil {
		return Agent{}, err
	}
	a := agentFrom(r.Agent, r.HeldUntil, r.Factory, r.Taken, r.Follows)
	a.Health = a.HealthAt(r.Now)
	return a, nil
}

// factoriesTx reads the factories of a workspace, without their agents.
func factoriesTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Factory, error) {
	rows, err := q.FactoryList(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	list := make([]Factory, 0, len(rows))
	for _, r := range rows {
		f, err := factoryFrom(r)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Factory) int { return natural.Compare(a.Name, b.Name) })
	return list, nil
}

// agentKindsTx reads the kinds of living agents of each factory, as agents without a
// name. The capabilities of agents count for some factories only.
func agentKindsTx(ctx context.Context, tx db.Tx, workspace ids.ID, withCapabilities []ids.ID) (map[ids.ID][]Agent, error) {
	kinds, err := q.AgentKinds(ctx, tx, workspace, withCapabilities)
	if err != nil {
		return nil, err
	}
	of := map[ids.ID][]Agent{}
	for _, k := range kinds {
		of[k.FactoryID] = append(of[k.FactoryID], Agent{Capabilities: k.Capabilities, Health: Healthy, Terminated: k.Ended})
	}
	return of, nil
}

// countHealthsTx counts agents by health.
func countHealthsTx(ctx context.Context, tx db.Tx, workspace ids.ID, into map[Health]int) error {
	rows, err := q.AgentCountPerHealth(ctx, tx, workspace)
	for _, r := range rows {
		into[Health(r.Health)] = r.Agents
	}
	return err
}

// setDrainingTx reports whether the factory is there and was in the other state.
func setDrainingTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string, draining bool, actor string) (bool, error) {
	_, err := q.FactorySetDraining(ctx, tx, draining, actor, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, nil
}

func factoryFrom(r dbsqlc.FactoryListRow) (Factory, error) {
	f := Factory{
		ID: r.ID, Name: r.Name, OS: r.Os, Host: r.Host, Pool: r.Pool, Engines: r.Engines, Capabilities: r.Capabilities,
		Seats: r.Seats, Draining: r.Draining, DrainedBy: r.DrainedBy, DrainedAt: r.DrainedAt,
		EndedAt: r.EndedAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Health: Dead,
	}
	if f.EndedAt != nil {
		f.Health = Ended
	}
	err := errors.Join(json.Unmarshal(r.Repos, &f.Repos), json.Unmarshal(r.Unavailable, &f.Unavailable),
		json.Unmarshal(r.Rescued, &f.Rescued))
	if err != nil {
		return f, fmt.Errorf("lists of factory %s: %w", r.Name, err)
	}
	return f, nil
}

func agentFrom(r dbsqlc.Agent, heldUntil *time.Time, factory string, taken, follows int) Agent {
	a := Agent{
		ID: r.ID, Name: r.Name, Model: r.Model, Provider: r.Provider, HeldUntil: heldUntil, Roles: r.Roles, Factory: factory,
		Capabilities: r.Capabilities, Products: r.Products,
		MaxConcurrentJobs: r.MaxConcurrentJobs, HeartbeatIntervalSeconds: r.HeartbeatIntervalSeconds,
		StaleAfterSeconds: r.StaleAfterSeconds, BootID: r.BootID, Status: r.Status, MemoryMB: r.MemoryMb,
		LastHeartbeatAt: r.LastHeartbeatAt, Terminated: r.TerminatedAt != nil && !r.HasEnded, Graceful: r.EndedGracefully,
		HasEnded: r.HasEnded, Host: r.Host,
		TerminateReason: r.TerminateReason,
		CutOff:          r.CutOffAt != nil,
		Taken:           taken, Follows: follows, CreatedAt: r.CreatedAt, RegisteredAt: r.RegisteredAt,
	}
	if r.CpuPercent != nil {
		load := float64(*r.CpuPercent)
		a.CPUPercent = &load
	}
	return a
}
