package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// replayed is the value of Idempotent-Replayed.
var replayed = "true"

// CreateJob makes a job and says which factories could run it now.
func (s *jobHandlers) CreateJob(ctx context.Context, r CreateJobRequestObject) (CreateJobResponseObject, error) {
	who := principal(ctx)
	created, err := s.createOne(ctx, who, callFrom(ctx).once, *r.Body)
	if err != nil {
		return nil, err
	}
	job := created.Jobs[0]
	snap, err := s.Fleet.ReducedSnapshot(ctx, who, toNeeds(job))
	if err != nil {
		return nil, err
	}
	model := jobModel(job)
	routability := routabilityModel(snap.Route(toNeeds(job)))
	if !routability.Routable {
		start, err := s.Pools.Startable(ctx, who, job.Product, toNeeds(job), snap)
		if err != nil {
			return nil, err
		}
		routability.CanBeStarted = canBeStarted(start)
	}
	model.Routability = &routability
	if created.Replayed {
		return CreateJob200JSONResponse{Body: model, Headers: CreateJob200ResponseHeaders{IdempotentReplayed: &replayed}}, nil
	}
	return CreateJob201JSONResponse(model), nil
}

// createOne creates a job for a person, or for an agent that found it.
func (s *jobHandlers) createOne(ctx context.Context, who tenancy.Principal, from *idempotency.Key, in NewJob) (jobs.Created, error) {
	switch found := in.DiscoveredFrom; {
	case who.Kind != tenancy.KindAgent && found != nil:
		return jobs.Created{}, fault.Invalid("discovered_from", "It must be left out by people; link the job afterwards.")
	case who.Kind != tenancy.KindAgent:
		return s.Jobs.Create(ctx, who, from, newJob(in))
	case found == nil:
		return jobs.Created{}, fault.Invalid("discovered_from", "It must say which job the agent works on.")
	default:
		return s.Dispatch.Submit(ctx, who, from, lease.Ref{Job: found.Job, Epoch: found.Epoch}, newJob(in))
	}
}

// CreateJobs makes many jobs, all or none.
func (s *jobHandlers) CreateJobs(ctx context.Context, r CreateJobsRequestObject) (CreateJobsResponseObject, error) {
	who := principal(ctx)
	in := make([]jobs.New, 0, len(r.Body.Jobs))
	for i, one := range r.Body.Jobs {
		if one.DiscoveredFrom != nil {
			return nil, fault.Invalid(fmt.Sprintf("jobs[%d].discovered_from", i), "It must be left out by people; link the job afterwards.")
		}
		in = append(in, newJob(one))
	}
	created, err := s.Jobs.Create(ctx, who, callFrom(ctx).once, in...)
	if err != nil {
		return nil, ofBatch(err, len(in))
	}
	listed, err := s.withRoutable(ctx, who, created.Jobs)
	if err != nil {
		return nil, err
	}
	answer := CreatedJobs{Jobs: listed}
	if created.Replayed {
		return CreateJobs200JSONResponse{Body: answer, Headers: CreateJobs200ResponseHeaders{IdempotentReplayed: &replayed}}, nil
	}
	return CreateJobs201JSONResponse(answer), nil
}

// withRoutable says of each job whether a live factory can run it. Jobs of one
// lane have the same needs and are looked at once.
func (s *jobHandlers) withRoutable(ctx context.Context, who tenancy.Principal, in []jobs.Job) ([]Job, error) {
	ofLane := map[int64]fleet.Needs{}
	for _, j := range in {
		ofLane[j.LaneID] = toNeeds(j)
	}
	snap, err := s.Fleet.ReducedSnapshot(ctx, who, slices.Collect(maps.Values(ofLane))...)
	if err != nil {
		return nil, err
	}
	routable := map[int64]bool{}
	for lane, needs := range ofLane {
		routable[lane] = len(snap.Route(needs).Eligible) > 0
	}
	return mapSlice(in, func(j jobs.Job) Job {
		model, can := jobModel(j), routable[j.LaneID]
		model.Routable = &can
		return model
	}), nil
}

// ofBatch names the fields of a batch of one as those of any other batch.
func ofBatch(err error, n int) error {
	var refusal *fault.Error
	if n != 1 || !errors.As(err, &refusal) || refusal.Code != fault.Validation {
		return err
	}
	fields := map[string]string{}
	for field, problem := range refusal.Fields {
		fields["jobs[0]."+field] = problem
	}
	return fault.InvalidFields(fields)
}
