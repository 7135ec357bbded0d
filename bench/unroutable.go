package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/internal/signal"
)

func init() {
	register(line{"unroutable", "claims, the board and an idle server beside 10,000 ready jobs that fit nobody", unroutable})
}

const (
	unroutableJobs   = 10_000
	unroutableClaims = 20_000
	// unroutableIdle is how long the server is idle while its transactions are counted.
	unroutableIdle = 30 * time.Second
	// unroutableLimit is what is left of the speed of claims.
	unroutableLimit = 0.9
	// manyKinds is of how many capabilities each of many lanes needs some: 2 to the power of it.
	manyKinds = 14
)

// unroutableCase is how many jobs fit nobody, and in how many lanes they are.
type unroutableCase struct {
	name        string
	jobs, lanes int
}

// unroutableCosts is what was measured beside such jobs.
type unroutableCosts struct {
	claims            float64 // jobs a second
	board             time.Duration
	calls             int64 // transactions while the server was idle
	register, claimed time.Duration
	registerCalls     int64
}

// unroutable measures the same beside no job that fits nobody, beside some in few lanes, and beside
// as many of which each has a lane of its own.
func unroutable(ctx context.Context, s *environment) ([]figure, error) {
	n := s.sized(unroutableJobs, 200)
	alone, err := s.besideUnroutable(ctx, unroutableCase{"none", 0, 1})
	if err != nil {
		return nil, err
	}
	var figures []figure
	for _, c := range []unroutableCase{{"10 lanes", n, 10}, {"a lane each", n, n}} {
		got, err := s.besideUnroutable(ctx, c)
		if err != nil {
			return nil, err
		}
		with := fmt.Sprintf("%d unroutable jobs in %s", c.jobs, c.name)
		claims := versus("claim + complete beside "+with+"; beside none", got.claims, alone.claims, "jobs/s", n)
		claims.AtLeast = unroutableLimit
		figures = append(figures, claims,
			within("transactions of an idle server beside "+with, float64(got.calls), 1.2*float64(alone.calls)+20, "transactions", n),
			within("the board beside "+with, ms(got.board), 1000, "ms", n),
			within("a registration that makes routable "+with, ms(got.register), 1000, "ms", 1),
			within("the first claim after it of "+with, ms(got.claimed), 1000, "ms", 1),
			within("transactions of both, "+with, float64(got.registerCalls), 500, "transactions", 1))
	}
	return figures, nil
}

// besideUnroutable measures a server of its own.
func (s *environment) besideUnroutable(ctx context.Context, c unroutableCase) (b unroutableCosts, err error) {
	err = s.withWeb(ctx, func(w *web) error {
		if err := submitUnroutable(ctx, w, c); err != nil {
			return err
		}
		if b.claims, err = w.drain(ctx, s.sized(unroutableClaims, 2*claimAgents), way{}); err != nil {
			return err
		}
		if b.board, err = boardTime(ctx, w); err != nil {
			return err
		}
		before, err := transactions(ctx, w)
		if err != nil {
			return err
		}
		if err := signal.Sleep(ctx, s.lasting(unroutableIdle)); err != nil {
			return err
		}
		after, err := transactions(ctx, w)
		if err != nil {
			return err
		}
		b.calls = after - before
		if err := makeRoutable(ctx, w, c, &b); err != nil {
			return err
		}
		s.sayf("beside %d unroutable jobs in %d lanes: %.0f jobs/s, board %.0f ms, %d transactions idle, "+
			"registration %.0f ms, first claim %.0f ms, %d transactions", c.jobs, c.lanes, b.claims, ms(b.board), b.calls,
			ms(b.register), ms(b.claimed), b.registerCalls)
		return nil
	}, "FLEETBOARD_ADMIN_EMAIL="+personEmail(0), "FLEETBOARD_ADMIN_PASSWORD="+boardPassword)
	return b, err
}

// needsOfLane returns the capabilities that jobs of a lane need.
func needsOfLane(lane int) string {
	needs := []string{`"nobody:0"`}
	for kind := range manyKinds {
		if lane&(1<<kind) != 0 {
			needs = append(needs, fmt.Sprintf(`"nobody:%d"`, kind+1))
		}
	}
	return strings.Join(needs, ",")
}

func submitUnroutable(ctx context.Context, w *web, c unroutableCase) error {
	for made := 0; made < c.jobs; made += submitBatch {
		var list []string
		for i := made; i < min(made+submitBatch, c.jobs); i++ {
			list = append(list, fmt.Sprintf(`{"title":"Fits nobody","capabilities":[%s]}`, needsOfLane(i%c.lanes)))
		}
		if err := w.submitThese(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// boardTime returns how long the board takes, at the second time.
func boardTime(ctx context.Context, w *web) (took time.Duration, err error) {
	people, err := w.people(ctx, 1)
	if err != nil {
		return 0, err
	}
	for range 2 {
		began := time.Now()
		page, err := people[0].get(ctx, w.url+"/board")
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, page.Body)
		_ = page.Body.Close()
		if took = time.Since(began); err != nil {
			return 0, err
		}
	}
	return took, nil
}

// transactions counts the transactions on the server's database so far: it has no counter of statements
// that is always there. What a session does is counted up to a second later.
func transactions(ctx context.Context, w *web) (n int64, err error) {
	if err := signal.Sleep(ctx, 2*time.Second); err != nil {
		return 0, err
	}
	return n, w.asOwner(ctx, func(owner *pgx.Conn) error {
		return owner.QueryRow(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	})
}

// makeRoutable registers an agent that can do all of the jobs, and lets it claim one.
func makeRoutable(ctx context.Context, w *web, c unroutableCase, b *unroutableCosts) error {
	enrol, err := w.first(ctx, "enrolment-token")
	if err != nil {
		return err
	}
	defer enrol.close()
	before, err := transactions(ctx, w)
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"boot_id":%q,"max_concurrent_jobs":10,"stale_after_seconds":86400,"capabilities":[%s],`+
		`"factory":{"name":"able","seats":10}}`,
		bootID, needsOfLane(1<<manyKinds-1))
	began := time.Now()
	got, err := enrol.must(http.MethodPut, "/api/v1/agents/able", []byte(body), http.StatusOK)
	if err != nil {
		return err
	}
	b.register = time.Since(began)
	token, err := readToken(got)
	if err != nil {
		return err
	}
	own := &agent{name: "able", caller: w.caller(ctx, token)}
	defer own.close()
	began = time.Now()
	leases, err := own.claim(nil, 1)
	if err != nil {
		return err
	}
	if b.claimed = time.Since(began); len(leases) == 0 && c.jobs > 0 {
		return fmt.Errorf("the agent that can do all of %s got nothing", c.name)
	}
	after, err := transactions(ctx, w)
	b.registerCalls = after - before
	return err
}
