package pools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

// maxLanes bounds how many lanes are looked at.
const maxLanes = 5000

// ListTx reads the pools of a workspace, by name.
func ListTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Pool, error) {
	rows, err := q.PoolList(ctx, tx, startSeconds, workspace)
	list := make([]Pool, 0, len(rows))
	for _, r := range rows {
		p := dbsqlc.Pool{Os: r.Os, Engines: r.Engines, Capabilities: r.Capabilities, Repos: r.Repos, Seats: r.Seats,
			MinFactories: r.MinFactories, MaxFactories: r.MaxFactories, MinIdle: r.MinIdle, CoolDownSeconds: r.CoolDownSeconds,
			ProductScope: r.ProductScope}
		list = append(list, Pool{Template: templateFrom(p), ID: r.ID, Name: r.Name, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
			Live: r.Factories, Draining: r.Draining, Starting: r.Starting, Running: r.Running, Offered: r.Offered,
			ColdStart: time.Duration(r.ColdStartSeconds * float64(time.Second)), Stalled: r.Stalled, tokens: r.Tokens})
	}
	return list, err
}

func templateFrom(p dbsqlc.Pool) Template {
	return Template{Offers: Offers{OS: p.Os, Engines: p.Engines, Capabilities: p.Capabilities, Repos: p.Repos, Seats: p.Seats},
		Min: p.MinFactories, Max: p.MaxFactories, MinIdle: p.MinIdle, CoolDownSeconds: p.CoolDownSeconds, ProductScope: p.ProductScope}
}

// poolTx reads a pool, and whether there is one.
func poolTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (row dbsqlc.Pool, known bool, err error) {
	row, err = q.PoolByName(ctx, tx, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, false, nil
	}
	return row, err == nil, err
}

// lockTx locks a pool. Fault: NotFound.
func lockTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (ids.ID, error) {
	id, err := q.PoolLock(ctx, tx, workspace, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return ids.Nil, noPool(name)
	}
	return id, err
}

func saveTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string, t Template) error {
	return q.PoolSave(ctx, tx, dbsqlc.PoolSaveParams{WorkspaceID: workspace, ID: ids.New(), Name: name, Os: t.Offers.OS,
		Engines: t.Offers.Engines, Capabilities: t.Offers.Capabilities, Repos: t.Offers.Repos, Seats: t.Offers.Seats,
		MinFactories: t.Min, MaxFactories: t.Max, MinIdle: t.MinIdle, CoolDownSeconds: t.CoolDownSeconds,
		ProductScope: t.ProductScope, Tokens: t.Offers.Tokens()})
}

// checkProductsTx refuses names of products that are not there.
func checkProductsTx(ctx context.Context, tx db.Tx, workspace ids.ID, names []string) error {
	if len(names) == 0 {
		return nil
	}
	products, err := q.ProductList(ctx, tx, workspace)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, p := range products {
		known[p.Name] = true
	}
	p := fault.Problems{}
	for i, name := range names {
		if !known[name] {
			p.Add(fmt.Sprintf("product_scope[%d]", i), "There is no product %s in this workspace.", name)
		}
	}
	return p.Err()
}

// lanesTx reads what can be claimed now and fits a pool.
func lanesTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]lane, error) {
	rows, err := q.PoolQueue(ctx, tx, workspace, maxLanes, MaxJobs)
	list := make([]lane, 0, len(rows))
	for _, r := range rows {
		list = append(list, lane{product: r.Product, needs: r.Needs, jobs: r.Jobs})
	}
	return list, err
}

func historyTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string) (h History, err error) {
	row, known, err := poolTx(ctx, tx, workspace, name)
	if err != nil {
		return h, err
	}
	if !known {
		return h, noPool(name)
	}
	pool := row.ID
	members, err := q.PoolMembers(ctx, tx, workspace, &pool, maxMembers)
	if err != nil {
		return h, err
	}
	for _, m := range members {
		h.Members = append(h.Members, Member{Name: m.Name, Host: m.Host, Seats: m.Seats, Taken: m.Taken, Draining: m.Draining,
			Live: m.Lives, EndedAt: m.EndedAt})
	}
	samples, err := q.PoolSamples(ctx, tx, workspace, pool)
	if err != nil {
		return h, err
	}
	for _, s := range samples {
		h.Samples = append(h.Samples, Sample{At: s.At, Known: s.Known, Queued: s.Queued, Running: s.Running, Value: s.Value,
			Factories: s.Factories, Starting: s.Starting})
	}
	starts, err := q.PoolStartList(ctx, tx, workspace, pool, shownStarts)
	if err != nil {
		return h, err
	}
	for _, r := range starts {
		h.Starts = append(h.Starts, startFrom(r))
	}
	return h, nil
}

func sampleTx(ctx context.Context, tx db.Tx, workspace ids.ID, one PoolDemand) error {
	d := one.Demand
	err := q.PoolSampleSave(ctx, tx, dbsqlc.PoolSampleSaveParams{WorkspaceID: workspace, PoolID: one.Pool.ID, Queued: d.Queued,
		Running: d.Running, Value: d.Value, Factories: d.Factories, Starting: d.Starting})
	if err != nil {
		return err
	}
	if err := q.PoolSampleExpire(ctx, tx, workspace, one.Pool.ID); err != nil {
		return err
	}
	return q.PoolStartExpire(ctx, tx, workspace, one.Pool.ID, keptStarts)
}

// endStart ends the open start of a factory for a pool.
func endStart(ctx context.Context, tx db.Tx, workspace, pool ids.ID, in Scaling) ([]dbsqlc.PoolStart, error) {
	return q.PoolStartEnd(ctx, tx, dbsqlc.PoolStartEndParams{WorkspaceID: workspace, PoolID: pool, Factory: in.Factory,
		Failed: in.Step == Failed, Detail: in.Detail})
}

func beginStart(ctx context.Context, tx db.Tx, who tenancy.Principal, pool ids.ID, factory string) ([]dbsqlc.PoolStart, error) {
	row, err := q.PoolStartBegin(ctx, tx, dbsqlc.PoolStartBeginParams{WorkspaceID: who.Workspace, ID: ids.New(), PoolID: pool,
		Factory: factory, ByName: who.Name})
	return []dbsqlc.PoolStart{row}, err
}

// lastStart returns the start that a step was about, nil where there is none.
func lastStart(rows []dbsqlc.PoolStart, err error) (*FactoryStart, error) {
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	s := startFrom(rows[0])
	return &s, nil
}

func startFrom(r dbsqlc.PoolStart) FactoryStart {
	return FactoryStart{Factory: r.Factory, StartedAt: r.StartedAt, RegisteredAt: r.RegisteredAt, DrainedAt: r.DrainedAt,
		EndedAt: r.EndedAt, Failed: r.Failed, Detail: r.Detail, By: r.ByName}
}
