package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/fleet"
)

// factoryHandlers answer the calls about factories.
type factoryHandlers struct{ *Deps }

// ListFactories gives a page of the factories, by name.
func (s *factoryHandlers) ListFactories(ctx context.Context, r ListFactoriesRequestObject) (ListFactoriesResponseObject, error) {
	snap, err := s.Fleet.Snapshot(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	shown, next, err := page(snap.Factories, r.Params.Cursor, r.Params.Limit,
		func(f fleet.Factory) string { return f.Name },
		func(f fleet.Factory, last string) bool { return f.Name > last })
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
