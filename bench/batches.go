package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
)

const (
	batchJobs = 100_000
	batchOf   = 50
	// batchLimit is the part of River's worked jobs that has to be reached.
	batchLimit = 0.5
)

func init() {
	register(line{"batches", "the same, 50 jobs a request, against River in its own process", batches})
}

// batches measures how many jobs a second 64 agents take and complete over HTTP
// in batches, with all that claims has. Beside it River works as many jobs that do
// nothing, in the process that takes them.
func batches(ctx context.Context, s *environment) ([]figure, error) {
	n := s.sized(batchJobs, 2*claimAgents)
	rate, err := s.drain(ctx, n, way{most: batchOf})
	if err != nil {
		return nil, err
	}
	s.sayf("%d agents over HTTP, %d jobs a request: %.0f jobs/s", claimAgents, batchOf, rate)
	beside, err := s.river(ctx)
	if errors.Is(err, errNoRiver) {
		s.sayf("%v: nothing to compare with", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f := versus("claim + complete, 50 a request, 64 agents over HTTP; River's best", rate, beside.Worked, "jobs/s", n)
	f.AtLeast = batchLimit
	return []figure{f, versus("the same; River's defaults, 1000 workers", rate, beside.Default, "jobs/s", n)}, nil
}

// completeAll completes jobs with one request.
func (a *agent) completeAll(list []lease) error {
	body := []byte(`{"items":[`)
	for i, l := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = l.append(body, "complete")
	}
	got, err := a.must(http.MethodPost, "/api/v1/fleet/batch", append(body, `]}`...), http.StatusOK)
	if err != nil {
		return err
	}
	if done := bytes.Count(got.body, []byte(`"status":200`)); done != len(list) {
		return fmt.Errorf("%d of %d jobs of a batch are completed: %.500s", done, len(list), got.body)
	}
	return nil
}
