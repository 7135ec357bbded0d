package scaler

import (
	"context"

	"github.com/fleetboard/fleetboard/api"
)

// Remote is a Server that is called by its API.
type Remote struct{ *api.Client }

// Pool reads a pool.
func (r Remote) Pool(ctx context.Context, name string) (api.Pool, error) {
	answer, err := r.GetPoolWithResponse(ctx, name)
	if err != nil {
		return api.Pool{}, named(err)
	}
	return *answer.JSON200, nil
}

// Demand reads what a pool needs.
func (r Remote) Demand(ctx context.Context, name string) (api.PoolDemand, error) {
	answer, err := r.GetPoolDemandWithResponse(ctx, name)
	if err != nil {
		return api.PoolDemand{}, named(err)
	}
	return *answer.JSON200, nil
}

// Scale says what is done with a factory.
func (r Remote) Scale(ctx context.Context, pool string, step api.ScalingStep, factory, detail string) error {
	_, err := r.ScalePoolWithResponse(ctx, pool, api.Scaling{Factory: factory, Step: step, Detail: &detail})
	return named(err)
}

// Taken returns how many jobs a factory has.
func (r Remote) Taken(ctx context.Context, factory string) (int, bool, error) {
	answer, err := r.GetFactoryWithResponse(ctx, factory)
	if err != nil {
		return 0, false, named(err)
	}
	return answer.JSON200.SeatsTaken, answer.JSON200.Live, nil
}

// Drain gives a factory no jobs, or jobs again.
func (r Remote) Drain(ctx context.Context, factory string, yes bool) error {
	var err error
	if yes {
		_, err = r.DrainFactoryWithResponse(ctx, factory)
	} else {
		_, err = r.UndrainFactoryWithResponse(ctx, factory)
	}
	return named(err)
}

// named returns the errors that a Server may answer.
func named(err error) error {
	switch {
	case api.Refused(err, api.ProblemCodeInUse):
		return ErrNotNeeded
	case api.Refused(err, api.ProblemCodeNotFound):
		return ErrNotThere
	}
	return err
}
