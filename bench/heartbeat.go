package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/internal/signal"
)

func init() {
	register(line{"heartbeats", "agents that each hold a lease and send a heartbeat every ten seconds", heartbeats})
}

const (
	heartAgents   = 10_000
	heartInterval = 10 * time.Second
	heartTime     = 30 * time.Second
	heartWarming  = time.Millisecond // from one agent's first heartbeat to the next one's
	// Agents keep their own time: how many of them may wait for an answer at once.
	heartsAtOnce = 256
	heartCore    = 25.0 // percent of a core that the server may take
	heartSlowest = 50.0 // milliseconds, p99
	// hotShare is how many of a hundred rewritten rows have to stay on their page
	// and out of every index.
	hotShare = 90.0
)

// heartbeats measures what the heartbeats of a large fleet cost the server, and how
// long the slowest of them take, counted from the moment at which they were due.
func heartbeats(ctx context.Context, s *environment) (figures []figure, err error) {
	n := s.sized(heartAgents, 100)
	err = s.withWeb(ctx, func(w *web) (err error) {
		figures, err = w.heartbeats(ctx, n)
		return err
	})
	return figures, err
}

func (w *web) heartbeats(ctx context.Context, n int) ([]figure, error) {
	agents, err := w.working(ctx, n)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, a := range agents {
			a.close()
		}
	}()
	if err := w.settle(ctx); err != nil {
		return nil, err
	}
	// A round before: connections are opened, statements prepared.
	round := time.Duration(n) * heartWarming
	if _, err := beat(ctx, agents, round, round); err != nil {
		return nil, err
	}
	rewritten, stayed, err := w.rewritten(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	before, err := w.costs(ctx)
	if err != nil {
		return nil, err
	}
	took, err := beat(ctx, agents, heartInterval, w.environment.lasting(heartTime))
	if err != nil {
		return nil, err
	}
	passed := time.Since(began)
	after, err := w.costs(ctx)
	if err != nil {
		return nil, err
	}
	server, postgres := ofACore(before.server, after.server, passed), ofACore(before.postgres, after.postgres, passed)
	rewritten2, stayed2, err := w.rewrittenBy(ctx, rewritten+int64(len(took)))
	if err != nil {
		return nil, err
	}
	hot := 100 * float64(stayed2-stayed) / float64(max(1, rewritten2-rewritten))
	w.environment.sayf("%d agents: %.0f heartbeats/s; p50 %.1f ms, p99 %.1f ms; server %.1f %% and PostgreSQL %.1f %% of a core, "+
		"server %d MB", n, float64(len(took))/passed.Seconds(), ms(percentile(took, 50)), ms(percentile(took, 99)),
		server, postgres, after.server.RSS>>20)
	stays := figure{Name: "rows rewritten on their page, in no index", Ours: hot, Other: 100, Unit: "%", Ratio: hot / 100,
		AtLeast: hotShare / 100, Runs: int(rewritten2 - rewritten)}
	return []figure{
		within(fmt.Sprintf("server, %d agents every 10 s", n), server, heartCore, "% of a core", len(took)),
		{Name: "PostgreSQL beside it", Ours: postgres, Unit: "% of a core", Runs: len(took)},
		within("heartbeat, p99", ms(percentile(took, 99)), heartSlowest, "ms", len(took)),
		stays,
	}, nil
}

// working registers n agents and lets each take a job.
func (w *web) working(ctx context.Context, n int) ([]*agent, error) {
	if err := w.submit(ctx, n); err != nil {
		return nil, err
	}
	agents, err := w.register(ctx, n, 10)
	if err != nil {
		return nil, err
	}
	group, within := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range registerers {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n) && within.Err() == nil; i = next.Add(1) - 1 {
				if agents[i].taken, err = agents[i].claim(nil, 1); err != nil {
					return err
				}
				if len(agents[i].taken) != 1 {
					return fmt.Errorf("%s got %d jobs", agents[i].name, len(agents[i].taken))
				}
			}
			return nil
		})
	}
	return agents, group.Wait()
}

// beat lets every agent send a heartbeat in each interval, spread evenly over it,
// and gives how long after it was due each was answered.
func beat(ctx context.Context, agents []*agent, interval, lasting time.Duration) ([]time.Duration, error) {
	began := time.Now()
	pause := interval / time.Duration(len(agents))
	total := int64(lasting / pause)
	var next atomic.Int64
	var mu sync.Mutex
	var all []time.Duration
	group, within := errgroup.WithContext(ctx)
	for range min(heartsAtOnce, len(agents)) {
		group.Go(func() error {
			var took []time.Duration
			var body []byte
			timer := time.NewTimer(0)
			defer timer.Stop()
			for i := next.Add(1) - 1; i < total; i = next.Add(1) - 1 {
				due := began.Add(time.Duration(i) * pause)
				timer.Reset(time.Until(due))
				select {
				case <-timer.C:
				case <-within.Done():
					return within.Err()
				}
				a := agents[i%int64(len(agents))]
				body = a.appendBeat(body[:0])
				if _, err := a.must(http.MethodPost, "/api/v1/agents/"+a.name+"/heartbeat", body, http.StatusOK); err != nil {
					return err
				}
				took = append(took, time.Since(due))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			return nil
		})
	}
	err := group.Wait()
	return slices.Clip(all), err
}

// appendBeat writes a heartbeat that lists the agent's leases.
func (a *agent) appendBeat(to []byte) []byte {
	to = append(to, `{"boot_id":"`+bootID+`","status":"working","memory_mb":`...)
	to = append(strconv.AppendInt(to, int64(len(a.name)), 10), `,"leases":[`...)
	for i, l := range a.taken {
		if i > 0 {
			to = append(to, ',')
		}
		to = l.append(to, "")
	}
	return append(to, "]}"...)
}

// rewrittenBy is rewritten once there are so many, for each heartbeat rewrites a row
// at least: PostgreSQL's sessions report late what they did.
func (d ownDatabase) rewrittenBy(ctx context.Context, least int64) (rewritten, stayed int64, err error) {
	for late := time.Now().Add(idleSettle); ; {
		rewritten, stayed, err = d.rewritten(ctx)
		if err != nil || rewritten >= least || time.Now().After(late) {
			return rewritten, stayed, err
		}
		if err := signal.Sleep(ctx, 100*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
}

// rewritten returns how many rows of the tables that heartbeats write were rewritten,
// and how many of them stayed on their page.
func (d ownDatabase) rewritten(ctx context.Context) (rewritten, stayed int64, err error) {
	err = d.asOwner(ctx, func(owner *pgx.Conn) error {
		return owner.QueryRow(ctx, `SELECT sum(n_tup_upd)::bigint, sum(n_tup_hot_upd)::bigint FROM pg_stat_user_tables
			WHERE relname IN ('agent', 'job_lease')`).Scan(&rewritten, &stayed)
	})
	return rewritten, stayed, err
}
