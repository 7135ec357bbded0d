package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

const (
	claimAgents = 64
	claimJobs   = 40_000
	// freshLimit is what is left of the speed where PostgreSQL has counted nothing yet.
	freshLimit = 0.95
)

func init() {
	register(line{"claims", "claim and complete over HTTP, against the least that a queue does, and against the same rows", claims})
	register(line{"fresh", "claims on a database of which PostgreSQL has counted nothing yet, against one that is settled", fresh})
}

// way is how the agents of a line work.
type way struct {
	most  int    // jobs with one request; 0 is 1
	next  bool   // the end of a job brings the next one
	plain bool   // with net/http instead of the hand-made client
	fresh bool   // in a database of which PostgreSQL has counted nothing yet
	mode  string // in which jobs are given out; "" leaves it as it is
}

// claims measures how many jobs a second 64 agents take and complete over HTTP,
// one job a request, against a server process of its own: durable, with leases,
// attempts and events. Beside it the raw loop with as many jobs, in the same run, and one
// that writes the same rows in as many transactions, without a server.
func claims(ctx context.Context, s *environment) ([]figure, error) {
	n := s.sized(claimJobs, 2*claimAgents)
	raw, err := s.rawLoop(ctx, n)
	if errors.Is(err, errNoPgbench) {
		s.sayf("%v: nothing to compare with", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	same, err := s.sameRows(ctx, n)
	if err != nil {
		return nil, err
	}
	var all []figure
	for _, c := range []struct {
		name string
		way
		toRaw, toSame float64 // what the ratios have to be at least, 0 for anything
	}{
		{"claim + complete, 64 agents over HTTP", way{}, 0, 1.3},
		{"claim + complete, plain client", way{plain: true}, 0.65, 0},
		{"complete with next, 64 agents over HTTP", way{next: true}, 0, 0},
		{"complete with next, plain client", way{next: true, plain: true}, 0, 0},
		{"claim + complete, 50 a request", way{most: 50}, 1.3, 0},
	} {
		rate, err := s.drain(ctx, n, c.way)
		if err != nil {
			return nil, err
		}
		s.sayf("%s: %.0f jobs/s", c.name, rate)
		toRaw := versus(c.name+"; raw loop", rate, raw, "jobs/s", n)
		toSame := versus(c.name+"; loop with the same rows", rate, same, "jobs/s", n)
		toRaw.AtLeast, toSame.AtLeast = c.toRaw, c.toSame
		all = append(all, toRaw, toSame)
	}
	return all, nil
}

// fresh measures claims as they are on the first day, before autovacuum was there,
// beside claims on a database that was vacuumed and analysed.
func fresh(ctx context.Context, s *environment) ([]figure, error) {
	n := s.sized(claimJobs, 2*claimAgents)
	first, err := s.drain(ctx, n, way{fresh: true})
	if err != nil {
		return nil, err
	}
	settled, err := s.drain(ctx, n, way{})
	if err != nil {
		return nil, err
	}
	f := versus("claim + complete on a fresh database; on a settled one", first, settled, "jobs/s", n)
	f.AtLeast = freshLimit
	return []figure{f}, nil
}

// drain is that of a server of its own.
func (s *environment) drain(ctx context.Context, n int, how way) (rate float64, err error) {
	err = s.withWeb(ctx, func(w *web) (err error) {
		w.fresh = how.fresh
		rate, err = w.drain(ctx, n, how)
		return err
	})
	return rate, err
}

// drain submits n jobs, lets the agents work until all are done, and gives jobs a second.
func (w *web) drain(ctx context.Context, n int, how way) (float64, error) {
	if err := w.submit(ctx, n); err != nil {
		return 0, err
	}
	agents, err := w.register(ctx, claimAgents, 1)
	if err != nil {
		return 0, err
	}
	if how.mode != "" {
		if err := w.giveOut(ctx, how.mode); err != nil {
			return 0, err
		}
	}
	if err := w.settle(ctx); err != nil {
		return 0, err
	}
	observed, err := w.observe(ctx)
	if err != nil {
		return 0, err
	}
	before, err := w.costs(ctx)
	if err != nil && !errors.Is(err, errNoProc) {
		return 0, err
	}
	var done atomic.Int64
	group, within := errgroup.WithContext(ctx)
	began := time.Now()
	if how.plain {
		shareClient(agents)
	}
	for _, a := range agents {
		group.Go(func() error {
			defer a.close()
			for done.Load() < int64(n) && within.Err() == nil {
				worked, err := a.work(how)
				if err != nil {
					return err
				}
				if done.Add(int64(worked)); worked == 0 {
					return nil // the last ones are in the others' hands
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := observed(ctx); err != nil {
		return 0, err
	}
	if got := done.Load(); got != int64(n) {
		return 0, fmt.Errorf("%d of %d jobs were done", got, n)
	}
	if err := w.sayCosts(ctx, before, n); err != nil && !errors.Is(err, errNoProc) {
		return 0, err
	}
	return float64(n) / took.Seconds(), nil
}

// sealsEvery is how far apart the looks at the seals of the log are.
const sealsEvery = 100 * time.Millisecond

// fewEvents are sealed in a tenth of a second: nothing waits for that.
const fewEvents = 5_000

// awaitSeals returns once all events but a few are sealed.
func awaitSeals(ctx context.Context, owner *pgx.Conn) error {
	for sealed := false; !sealed; {
		err := owner.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM workspace w LEFT JOIN LATERAL (
				SELECT s.to_xid, s.to_id FROM log_seal s WHERE s.workspace_id = w.id ORDER BY s.number DESC LIMIT 1) h ON true
			WHERE EXISTS (SELECT FROM event e WHERE e.workspace_id = w.id
				AND (e.xid, e.id) > (coalesce(h.to_xid, '0'), coalesce(h.to_id, 0)) OFFSET $1))`, fewEvents).Scan(&sealed)
		if err != nil {
			return fmt.Errorf("await seals: %w", err)
		}
		if !sealed {
			<-time.After(sealsEvery)
		}
	}
	return nil
}

// settle leaves nothing of the preparations to be done while something is
// measured: statistics are taken, dirty pages are written, and events are sealed.
func (w *web) settle(ctx context.Context) error {
	steps := []string{"VACUUM ANALYZE", "CHECKPOINT"}
	switch {
	case w.fresh:
		steps = steps[1:]
	case w.uncounted:
		steps[0] = "VACUUM"
	}
	return w.asOwner(ctx, func(owner *pgx.Conn) error {
		for _, sql := range steps {
			if _, err := owner.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return awaitSeals(ctx, owner)
	})
}

// work claims jobs and completes them, several with one request, and says how many. Where
// the end of a job brings the next one, it claims only where it has none.
func (a *agent) work(how way) (int, error) {
	taken, err := a.taken, error(nil)
	if !how.next || len(taken) == 0 {
		taken, err = a.claim(taken[:0], max(1, how.most))
		a.taken = taken
	}
	switch {
	case err != nil || len(taken) == 0:
		return 0, err
	case how.next:
		return 1, a.completeForNext(taken[0])
	case how.most <= 1:
		return 1, a.complete(taken[0])
	default:
		return len(taken), a.completeAll(taken)
	}
}
