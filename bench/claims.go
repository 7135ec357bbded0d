package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fleetboard/handlers/api/apiclient"
)

const (
	claimAgents = 64
	submitBatch = 1000
)

// claims measures how many jobs a second 64 agents take and complete over HTTP,
// one job a request, against a server process of its own: durable, with leases,
// attempts and events. Beside it the raw loop, in the same run.
func claims(ctx context.Context, s *stage) (_ []figure, err error) {
	n := max(2*claimAgents, s.rows/50)
	raw, err := s.rawLoop(ctx, n)
	if errors.Is(err, errNoPgbench) {
		s.sayf("%v: nothing to compare with", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w, err := s.startWeb(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	if err := w.submit(ctx, n); err != nil {
		return nil, err
	}
	rate, err := w.work(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, w.tail())
	}
	if err := w.inspect(ctx); err != nil {
		return nil, err
	}
	s.sayf("%d agents over HTTP: %.0f jobs/s; audit and verify-log found nothing", claimAgents, rate)
	return []figure{{Name: "claim + complete, 64 agents over HTTP; raw loop", Ours: rate, Other: raw, Unit: "jobs/s", Ratio: rate / raw, Runs: n}}, nil
}

// submit creates n jobs.
func (w *web) submit(ctx context.Context, n int) error {
	owner, err := w.client("owner-token")
	if err != nil {
		return err
	}
	for made := 0; made < n; made += submitBatch {
		list := make([]apiclient.NewJob, min(submitBatch, n-made))
		for i := range list {
			list[i].Title = fmt.Sprint("Job ", made+i)
		}
		got, err := owner.CreateJobsWithResponse(ctx, nil, apiclient.CreateJobsJSONRequestBody{Jobs: list})
		if err != nil {
			return err
		}
		if err := answered("submit", got.HTTPResponse, got.Body, http.StatusCreated); err != nil {
			return err
		}
	}
	return nil
}

// work lets the agents work until all jobs are done, and gives jobs a second.
func (w *web) work(ctx context.Context, n int) (float64, error) {
	enrol, err := w.client("enrolment-token")
	if err != nil {
		return 0, err
	}
	agents := make([]*apiclient.ClientWithResponses, claimAgents)
	for i := range agents {
		name, most := fmt.Sprint("agent-", i), 100
		got, err := enrol.RegisterAgentWithResponse(ctx, name, apiclient.Registration{BootID: "boot-1", MaxConcurrentJobs: &most,
			Factory: apiclient.FactoryInfo{Name: "factory-of-" + name, Seats: &most}})
		if err != nil {
			return 0, err
		}
		if err := answered("register", got.HTTPResponse, got.Body, http.StatusOK); err != nil {
			return 0, err
		}
		if agents[i], err = w.client(got.JSON200.Token); err != nil {
			return 0, err
		}
	}
	var done atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for _, a := range agents {
		all.Go(func() error {
			for done.Load() < int64(n) {
				worked, err := workOne(ctx, a)
				if err != nil {
					return err
				}
				done.Add(int64(worked))
				if worked == 0 {
					return nil // the last ones are in the others' hands
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	if got := done.Load(); got != int64(n) {
		return 0, fmt.Errorf("%d of %d jobs were done", got, n)
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// workOne claims one job and completes it, if there is one.
func workOne(ctx context.Context, a *apiclient.ClientWithResponses) (int, error) {
	got, err := a.ClaimJobsWithResponse(ctx, apiclient.ClaimRequest{})
	if err != nil {
		return 0, err
	}
	if err := answered("claim", got.HTTPResponse, got.Body, http.StatusOK, http.StatusNoContent); err != nil || got.JSON200 == nil {
		return 0, err
	}
	for _, j := range got.JSON200.Jobs {
		end, err := a.CompleteJobWithResponse(ctx, apiclient.Completion{Job: j.Key, Epoch: j.Lease.Epoch})
		if err != nil {
			return 0, err
		}
		if err := answered("complete", end.HTTPResponse, end.Body, http.StatusOK); err != nil {
			return 0, err
		}
	}
	return len(got.JSON200.Jobs), nil
}
