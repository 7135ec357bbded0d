package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
)

func init() {
	register(line{"submit", "jobs submitted in batches of 1,000 over HTTP, against River's COPY", submits})
}

const submitJobs = 48_000

// submitters are the numbers of connections that are tried; the best counts, as
// it does for River.
var submitters = []int{1, 2, 4}

// submits measures how many jobs a second are created over HTTP in batches of
// 1,000, each batch answered with its jobs.
func submits(ctx context.Context, s *environment) ([]figure, error) {
	beside, err := s.river(ctx)
	if errors.Is(err, errNoRiver) {
		s.sayf("%v: nothing to compare with", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := s.sized(submitJobs, submitters[len(submitters)-1])
	best := 0.0
	err = s.withWeb(ctx, func(w *web) error {
		// Tables that were empty until now are planned for as if they stayed so.
		if err := errors.Join(w.submit(ctx, n/4), w.settle(ctx)); err != nil {
			return err
		}
		for _, connections := range submitters {
			rate, err := w.submitBy(ctx, n, connections)
			if err != nil {
				return err
			}
			s.sayf("submitted over %d connections: %.0f jobs/s", connections, rate)
			best = max(best, rate)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := versus("submit, batches of 1,000 over HTTP; River's InsertManyFast", best, beside.Inserted, "jobs/s", n)
	f.AtLeast = 0.5
	return []figure{f}, nil
}

// submitBy creates n jobs over some connections and gives jobs a second.
func (w *web) submitBy(ctx context.Context, n, connections int) (float64, error) {
	all, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for range connections {
		all.Go(func() error { return w.submit(ctx, n/connections) })
	}
	err := all.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}
