package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/internal/signal"
)

func init() {
	register(line{"wake", "from the submission of a job to the claim that gets it, while agents wait", wake})
}

const (
	wakeJobs = 500
	// wakePause lies between two submissions.
	wakePause = 40 * time.Millisecond
)

// wake measures with a thousand agents that wait, and with as many as the seats of a
// few factories.
func wake(ctx context.Context, s *environment) ([]figure, error) {
	var figures []figure
	for _, c := range []struct {
		agents int
		most   float64 // milliseconds, p50
	}{{1000, 5}, {64, 4}} {
		times, err := wakeOne(ctx, s, s.sized(c.agents, 20), 0)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("submit to claim answer, %d agents waiting, ", c.agents)
		figures = append(figures,
			within(name+"p50", ms(percentile(times, 50)), c.most, "ms", len(times)),
			within(name+"p99", ms(percentile(times, 99)), 25, "ms", len(times)))
	}
	return figures, nil
}

// wakeOne submits one job after another while agents wait, and measures from the
// moment when a submission is sent to the moment when a claim's answer is there. The agents are
// spread over a server and so many more.
func wakeOne(ctx context.Context, s *environment, waiting, more int) (times []time.Duration, err error) {
	err = s.withWeb(ctx, func(w *web) error {
		if err := w.add(ctx, more); err != nil {
			return err
		}
		agents, err := w.register(ctx, waiting, 10)
		if err != nil {
			return err
		}
		// A lane that all of them serve.
		if err := errors.Join(w.submit(ctx, 1), workOff(agents[0]), w.settle(ctx)); err != nil {
			return err
		}
		alarm := &alarm{given: map[string]time.Time{}, rung: signal.New()}
		observed, err := w.observe(ctx)
		if err != nil {
			return err
		}
		times, err = alarm.ring(ctx, w, agents, s.sized(wakeJobs, 20))
		return errors.Join(err, observed(ctx))
	})
	return times, err
}

// alarm is what waiting agents report: when each job was given to one of them.
type alarm struct {
	mu    sync.Mutex
	given map[string]time.Time // by key
	rung  signal.Signal
}

// ring submits n jobs, each once the one before was given to an agent, and gives
// the times they took.
func (b *alarm) ring(ctx context.Context, w *web, agents []*agent, n int) ([]time.Duration, error) {
	waiting, stop := context.WithCancel(ctx)
	all, waiting := errgroup.WithContext(waiting)
	asked := make(chan struct{}, len(agents))
	for _, a := range agents {
		all.Go(func() error { return b.listen(waiting, w.caller(waiting, a.token), asked) })
	}
	for range agents {
		<-asked
	}
	times, err := b.submit(waiting, w, n)
	stop()
	return times, errors.Join(err, all.Wait())
}

func (b *alarm) submit(ctx context.Context, w *web, n int) ([]time.Duration, error) {
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return nil, err
	}
	defer owner.close()
	// The looks that the waits begin with are over.
	if err := signal.Sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	times := make([]time.Duration, 0, n)
	for range n {
		sent := time.Now()
		got, err := owner.must(http.MethodPost, "/api/v1/jobs", []byte(`{"title":"Ring"}`), http.StatusCreated)
		if err != nil {
			return nil, err
		}
		var job struct {
			Key string `json:"key"`
		}
		if err := json.Unmarshal(got.body, &job); err != nil {
			return nil, err
		}
		at, err := b.awaitClaim(ctx, job.Key)
		if err != nil {
			return nil, err
		}
		times = append(times, at.Sub(sent))
		if err := signal.Sleep(ctx, wakePause); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// awaitClaim waits until a job was given to somebody, and says when.
func (b *alarm) awaitClaim(ctx context.Context, key string) (time.Time, error) {
	for {
		b.mu.Lock()
		at, ok := b.given[key]
		b.mu.Unlock()
		if ok {
			return at, nil
		}
		select {
		case <-b.rung.C():
		case <-ctx.Done():
			return at, ctx.Err()
		}
	}
}

// listen waits for jobs and completes them until it is called off.
func (b *alarm) listen(ctx context.Context, own *caller, asked chan<- struct{}) error {
	defer own.close()
	a := &agent{caller: own}
	asked <- struct{}{}
	for {
		got, err := own.must(http.MethodPost, "/api/v1/fleet/claim", []byte(`{"wait_seconds":50}`), http.StatusOK, http.StatusNoContent)
		at := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		leases, err := leasesIn(nil, got.body)
		if err != nil {
			return err
		}
		for _, l := range leases {
			b.tell(l.key, at)
			if err := a.complete(l); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

func (b *alarm) tell(key string, at time.Time) {
	b.mu.Lock()
	b.given[key] = at
	b.mu.Unlock()
	b.rung.Set()
}
