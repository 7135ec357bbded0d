package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/fleet/pools"
)

// poolHandlers answer the calls about pools.
type poolHandlers struct{ *Deps }

// ListPools returns all pools.
func (s *poolHandlers) ListPools(ctx context.Context, _ ListPoolsRequestObject) (ListPoolsResponseObject, error) {
	all, err := s.Pools.List(ctx, principal(ctx))
	return ListPools200JSONResponse{Items: mapSlice(all, poolModel)}, err
}

// GetPool reads one pool.
func (s *poolHandlers) GetPool(ctx context.Context, r GetPoolRequestObject) (GetPoolResponseObject, error) {
	p, err := s.Pools.Get(ctx, principal(ctx), r.Pool)
	return GetPool200JSONResponse(poolModel(p)), err
}

// PutPool makes a pool or replaces its template.
func (s *poolHandlers) PutPool(ctx context.Context, r PutPoolRequestObject) (PutPoolResponseObject, error) {
	p, isNew, err := s.Pools.Put(ctx, principal(ctx), r.Pool, template(*r.Body))
	if isNew {
		return PutPool201JSONResponse(poolModel(p)), err
	}
	return PutPool200JSONResponse(poolModel(p)), err
}

// DeletePool takes a pool away.
func (s *poolHandlers) DeletePool(ctx context.Context, r DeletePoolRequestObject) (DeletePoolResponseObject, error) {
	return DeletePool204Response{}, s.Pools.Delete(ctx, principal(ctx), r.Pool)
}

// GetPoolDemand counts what a pool needs.
func (s *poolHandlers) GetPoolDemand(ctx context.Context, r GetPoolDemandRequestObject) (GetPoolDemandResponseObject, error) {
	d, err := s.Pools.Demand(ctx, principal(ctx), r.Pool)
	return GetPoolDemand200JSONResponse(demandModel(d)), err
}

// GetPoolHistory reads what a pool did.
func (s *poolHandlers) GetPoolHistory(ctx context.Context, r GetPoolHistoryRequestObject) (GetPoolHistoryResponseObject, error) {
	h, err := s.Pools.History(ctx, principal(ctx), r.Pool)
	answer := GetPoolHistory200JSONResponse{Members: mapSlice(h.Members, memberModel), Samples: []PoolSample{},
		Starts: mapSlice(h.Starts, startModel)}
	for _, one := range h.Samples {
		if one.Known {
			answer.Samples = append(answer.Samples, PoolSample{At: one.At.UTC(), Queued: one.Queued, Running: one.Running,
				Value: one.Value, Factories: one.Factories, Starting: one.Starting})
		}
	}
	return answer, err
}

// ScalePool takes note of what a scaler does.
func (s *poolHandlers) ScalePool(ctx context.Context, r ScalePoolRequestObject) (ScalePoolResponseObject, error) {
	started, err := s.Pools.Scale(ctx, principal(ctx), r.Pool, pools.Scaling{Factory: r.Body.Factory, Step: pools.Step(r.Body.Step),
		Detail: value(r.Body.Detail)})
	answer := ScalePool200JSONResponse{}
	if started != nil {
		m := startModel(*started)
		answer.Start = &m
	}
	return answer, err
}

func template(in PoolTemplate) pools.Template {
	t := pools.Template{Offers: pools.Offers{OS: value(in.Offers.OS), Engines: value(in.Offers.Engines),
		Capabilities: value(in.Offers.Capabilities), Repos: value(in.Offers.Repos), Seats: 1},
		Min: value(in.Min), Max: in.Max, MinIdle: value(in.MinIdle), CoolDownSeconds: pools.DefaultCoolDown,
		ProductScope: value(in.ProductScope)}
	if in.Offers.Seats != nil {
		t.Offers.Seats = *in.Offers.Seats
	}
	if in.CoolDownSeconds != nil {
		t.CoolDownSeconds = *in.CoolDownSeconds
	}
	return t
}

func poolModel(p pools.Pool) Pool {
	return Pool{Name: p.Name, Offers: PoolOffersShown{OS: p.Offers.OS, Engines: list(p.Offers.Engines),
		Capabilities: list(p.Offers.Capabilities), Repos: list(p.Offers.Repos), Seats: p.Offers.Seats},
		Min: p.Min, Max: p.Max, MinIdle: p.MinIdle, CoolDownSeconds: p.CoolDownSeconds, ProductScope: list(p.ProductScope),
		Factories: p.Live, Draining: p.Draining, Starting: p.Starting, ColdStartSeconds: p.ColdStartSeconds(),
		CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC()}
}

func memberModel(m pools.Member) PoolMember {
	return PoolMember{Factory: m.Name, Host: m.Host, Seats: m.Seats, SeatsTaken: m.Taken, Draining: m.Draining, Live: m.Live,
		EndedAt: utcOrNil(m.EndedAt)}
}

func startModel(s pools.FactoryStart) FactoryStart {
	return FactoryStart{Factory: s.Factory, StartedAt: s.StartedAt.UTC(), RegisteredAt: utcOrNil(s.RegisteredAt),
		DrainedAt: utcOrNil(s.DrainedAt), EndedAt: utcOrNil(s.EndedAt), Failed: s.Failed, Detail: s.Detail, By: s.By}
}

func demandModel(d pools.Demand) PoolDemand {
	return PoolDemand{Value: d.Value, Start: d.Start, Queued: d.Queued, Offered: d.Offered, Running: d.Running, MinIdle: d.MinIdle,
		Starting: d.Starting, Factories: d.Factories, Draining: d.Draining, AtMaximum: d.AtMaximum}
}

// canBeStarted names the pool from which a factory can be expected; nil where there is none.
func canBeStarted(s *pools.Start) *CanBeStarted {
	if !s.IsExpected() {
		return nil
	}
	return &CanBeStarted{Pool: s.Pool, ColdStartSeconds: s.ColdStartSeconds(), AtMaximum: nilIfZero(s.Maximum)}
}
