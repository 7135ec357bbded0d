package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/transport"
)

func init() {
	register(line{"idle", "what agents cost that wait for a job and get none", func(ctx context.Context, s *environment) ([]figure, error) {
		return idle(ctx, s, "")
	}})
	register(line{"idle-transports", "the same with each transport of wake-ups", idleTransports})
}

const (
	idleAgents = 10_000
	idleTime   = 60 * time.Second
	// idleSettle is how long waits stand before they are measured, and how long after
	// that looks are counted: PostgreSQL's own counters come that late.
	idleSettle = 12 * time.Second
	// safetyLooks is how many statements a second the server may spend on looking
	// whether a wake-up was lost, for all agents together.
	safetyLooks = 1
)

// idle lets agents wait for jobs that do not come, and measures what the server took
// meanwhile. A wait lasts 50 s, so that each agent claims again once: that look is
// its own, all others count.
func idle(ctx context.Context, s *environment, suffix string, settings ...string) (figures []figure, err error) {
	n := s.sized(idleAgents, 50)
	err = s.withWeb(ctx, func(w *web) error {
		empty, err := w.usage()
		if errors.Is(err, errNoProc) {
			s.sayf("%v", err)
			return nil
		}
		if err != nil {
			return err
		}
		agents, err := w.register(ctx, n, 10)
		if err != nil {
			return err
		}
		// A lane that all of them serve.
		if err := errors.Join(w.submit(ctx, 1), workOff(agents[0])); err != nil {
			return err
		}
		if err := w.settle(ctx); err != nil {
			return err
		}
		r := &idleFleet{w: w, agents: agents}
		took, err := r.measure(ctx, s.lasting(idleSettle), s.lasting(idleTime))
		if err != nil {
			return err
		}
		s.sayf("%d agents waited for %.0f s%s: %.1f %% of a core in the server, %.1f in PostgreSQL; %d asked again, %d looks",
			n, took.passed.Seconds(), suffix, took.server, took.postgres, took.asked, took.looks)
		each := float64(took.rss-empty.RSS) / float64(n) / 1000
		figures = []figure{
			within("looks at the queue beyond one for each request"+suffix, max(0, float64(took.looks-took.asked)),
				safetyLooks*took.counted.Seconds(), "looks", n),
			within("memory of a waiting agent on the server"+suffix, each, 60, "KB", n),
			within("the server's time"+suffix, took.server, 2, "% of a core", n),
		}
		return nil
	}, settings...)
	return figures, err
}

// idleTransports measures with one transport after the other.
func idleTransports(ctx context.Context, s *environment) (figures []figure, err error) {
	for _, c := range []struct{ name, url string }{{transport.NameListen, ""}, {transport.NameNATS, "embedded"}, {transport.NamePoll, ""}} {
		some, err := idle(ctx, s, ", "+c.name, "FLEETBOARD_TRANSPORT="+c.name, "FLEETBOARD_NATS_URL="+c.url)
		if err != nil {
			return nil, err
		}
		figures = append(figures, some...)
	}
	return figures, nil
}

// workOff takes a job and completes it.
func workOff(a *agent) error {
	leases, err := a.claim(nil, 1)
	for _, l := range leases {
		err = errors.Join(err, a.complete(l))
	}
	return err
}

// idleFleet is where agents wait.
type idleFleet struct {
	w      *web
	agents []*agent
	asked  atomic.Int64 // claims that were sent
}

// stay is what agents took who waited for a time.
type stay struct {
	passed, counted  time.Duration
	rss              int64
	server, postgres float64 // percent of a core
	asked, looks     int64
}

// measure lets all agents wait, and looks at the server for a time once they do.
func (r *idleFleet) measure(ctx context.Context, settle, passed time.Duration) (*stay, error) {
	waiting, stop := context.WithCancel(ctx)
	all, _ := errgroup.WithContext(ctx)
	for _, a := range r.agents {
		own := r.w.caller(waiting, a.token)
		all.Go(func() error { return r.wait(waiting, own) })
	}
	took, err := r.look(ctx, settle, passed)
	stop()
	return took, errors.Join(err, all.Wait())
}

// wait claims a job again and again until it is called off.
func (r *idleFleet) wait(ctx context.Context, own *caller) error {
	defer own.close()
	for ctx.Err() == nil {
		r.asked.Add(1)
		_, err := own.must(http.MethodPost, "/api/v1/fleet/claim", []byte(`{"wait_seconds":50}`), http.StatusNoContent)
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (r *idleFleet) look(ctx context.Context, settle, passed time.Duration) (*stay, error) {
	for r.asked.Load() < int64(len(r.agents)) {
		if err := signal.Sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if err := signal.Sleep(ctx, settle); err != nil {
		return nil, err
	}
	before, err := r.taken(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := signal.Sleep(ctx, passed); err != nil {
		return nil, err
	}
	passed = time.Since(began)
	after, err := r.taken(ctx)
	if err != nil {
		return nil, err
	}
	if err := signal.Sleep(ctx, settle); err != nil {
		return nil, err
	}
	late, err := r.taken(ctx)
	if err != nil {
		return nil, err
	}
	return &stay{passed: passed, counted: time.Since(began), rss: after.server.RSS, server: ofACore(before.server, after.server, passed),
		postgres: ofACore(before.postgres, after.postgres, passed), asked: late.asked - before.asked, looks: late.looks - before.looks}, nil
}

// taken is what was used so far.
type taken struct {
	costs
	asked, looks int64
}

// taken counts a look wherever the table of claimable jobs is read: each of them
// does once, for the one lane.
func (r *idleFleet) taken(ctx context.Context) (taken, error) {
	t := taken{asked: r.asked.Load()}
	var err error
	if t.costs, err = r.w.costs(ctx); err != nil {
		return t, err
	}
	return t, r.w.asOwner(ctx, func(owner *pgx.Conn) error {
		return owner.QueryRow(ctx, `SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'job_ready'`).Scan(&t.looks)
	})
}
