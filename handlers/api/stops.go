package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/dispatch/stop"
	"github.com/fleetboard/fleetboard/internal/fleet"
)

// stopHandlers answer the calls that stop and release the fleet.
type stopHandlers struct{ *Deps }

// ListStops returns what is stopped.
func (s *stopHandlers) ListStops(ctx context.Context, _ ListStopsRequestObject) (ListStopsResponseObject, error) {
	stops, err := s.Dispatch.Stops(ctx, principal(ctx))
	return ListStops200JSONResponse{Items: mapSlice(stops, stopModel)}, err
}

// StopFleet stops the whole fleet, or products.
func (s *stopHandlers) StopFleet(ctx context.Context, r StopFleetRequestObject) (StopFleetResponseObject, error) {
	stops, err := s.Dispatch.StopFleet(ctx, principal(ctx), stop.Order{Products: value(r.Body.Products),
		Hold: fleet.Hold(r.Body.Hold), Reason: r.Body.Reason})
	return StopFleet200JSONResponse{Items: mapSlice(stops, stopModel)}, err
}

// ReleaseFleet lets go on what was stopped.
func (s *stopHandlers) ReleaseFleet(ctx context.Context, r ReleaseFleetRequestObject) (ReleaseFleetResponseObject, error) {
	var products []string
	if r.Body != nil {
		products = value(r.Body.Products)
	}
	stops, err := s.Dispatch.ReleaseFleet(ctx, principal(ctx), products)
	return ReleaseFleet200JSONResponse{Items: mapSlice(stops, stopModel)}, err
}

func stopModel(s fleet.Stop) Stop {
	return Stop{Product: nilIfZero(s.Product), Hold: StopHold(s.Hold), Reason: s.Reason, By: *actorModel(s.By), At: s.At.UTC()}
}
