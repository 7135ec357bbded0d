package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/internal/signal"
)

func init() {
	register(line{"stop", "stopping a fleet in which agents wait and others work, and releasing it", stopFleet})
}

const (
	stopIdle    = 10_000 // agents that wait
	stopWorking = 1000   // agents with a lease each
	stopJobs    = 200    // submitted while all is stopped
	// stopWatch is how long claims are looked for after a stop.
	stopWatch = 5 * time.Second
)

// stopFleet stops a fleet and measures how long that takes, that nothing is claimed after it,
// and that every holder of a lease is directed to pause.
func stopFleet(ctx context.Context, s *environment) (figures []figure, err error) {
	err = s.withWeb(ctx, func(w *web) error {
		working, err := w.working(ctx, s.sized(stopWorking, 20))
		if err != nil {
			return err
		}
		waiting, err := w.register(ctx, s.sized(stopIdle, 50), 10)
		if err != nil {
			return err
		}
		if err := w.settle(ctx); err != nil {
			return err
		}
		figures, err = w.stopAndRelease(ctx, working, waiting)
		return err
	})
	return figures, err
}

func (w *web) stopAndRelease(ctx context.Context, working, waiting []*agent) (figures []figure, err error) {
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return nil, err
	}
	defer owner.close()
	idle := &idleFleet{w: w, agents: waiting}
	waits, callOff := context.WithCancel(ctx)
	all, _ := errgroup.WithContext(ctx)
	for _, a := range waiting {
		own := w.caller(waits, a.token)
		all.Go(func() error { return idle.waitForJobs(waits, own) })
	}
	defer func() {
		callOff()
		err = errors.Join(err, all.Wait())
	}()
	for idle.asked.Load() < int64(len(waiting)) {
		if err := signal.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	if _, err := owner.must(http.MethodPost, "/api/v1/stop", []byte(`{"reason":"measured","hold":"all"}`), http.StatusOK); err != nil {
		return nil, err
	}
	stopped := time.Since(began)
	if err := w.submit(ctx, w.environment.sized(stopJobs, 10)); err != nil {
		return nil, err
	}
	asked, err := directed(working)
	if err != nil {
		return nil, err
	}
	if err := signal.Sleep(ctx, w.environment.lasting(stopWatch)); err != nil {
		return nil, err
	}
	given, err := w.claimedSinceStop(ctx)
	if err != nil {
		return nil, err
	}
	began = time.Now()
	if _, err := owner.must(http.MethodPost, "/api/v1/stop/release", []byte(`{}`), http.StatusOK); err != nil {
		return nil, err
	}
	released := time.Since(began)
	of := fmt.Sprintf("%d agents waiting, %d leases", len(waiting), len(working))
	return []figure{
		within("stop, "+of, ms(stopped), 2000, "ms", 1),
		within("jobs claimed after the stop", float64(given), 0, "jobs", len(waiting)),
		within("leases not directed to pause at their next heartbeat", float64(len(working)-asked), 0, "leases", len(working)),
		within("release", ms(released), 2000, "ms", 1),
	}, nil
}

// waitForJobs claims again and again until it is called off, and keeps what it gets.
func (r *idleFleet) waitForJobs(ctx context.Context, own *caller) error {
	defer own.close()
	for ctx.Err() == nil {
		r.asked.Add(1)
		_, err := own.must(http.MethodPost, "/api/v1/fleet/claim", []byte(`{"wait_seconds":50}`), http.StatusOK, http.StatusNoContent)
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// directed sends one heartbeat of each agent, and counts those that are directed to pause.
func directed(agents []*agent) (n int, err error) {
	for _, a := range agents {
		got, err := a.must(http.MethodPost, "/api/v1/agents/"+a.name+"/heartbeat", a.appendBeat(nil), http.StatusOK)
		if err != nil {
			return n, err
		}
		if bytes.Contains(got.body, []byte(`"directive":"pause"`)) {
			n++
		}
	}
	return n, nil
}

// claimedSinceStop counts the attempts that began after the fleet was stopped.
func (w *web) claimedSinceStop(ctx context.Context) (n int, err error) {
	err = w.asOwner(ctx, func(owner *pgx.Conn) error {
		return owner.QueryRow(ctx, `SELECT count(*) FROM attempt a, fleet_stop s
			WHERE s.workspace_id = a.workspace_id AND a.claimed_at > s.stopped_at`).Scan(&n)
	})
	return n, err
}
