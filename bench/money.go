package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

const (
	usageAgents = 8
	usageBatch  = 200 // entries a report
	usageLasts  = 10 * time.Second
	// usageWanted are entries a second.
	usageWanted = 10_000

	// budgetsLimit is what is left of the speed of claims under five budgets.
	budgetsLimit = 0.85

	moneyJobs = 10_000
	// moneyEach are the entries of a job, which lie half a minute apart in an hour.
	moneyEach     = 100
	moneyProducts = 5
	moneyLoads    = 200
	moneyPhase    = "M1"
	// Limits in ms.
	budgetsPageLimit = 150
	usageReportLimit = 200
)

func init() {
	register(line{"usage", "usage told over HTTP, 200 entries a report, with prices, and with a budget", tellUsage})
	register(line{"claims-budgets", "claim and complete over HTTP under five budgets, against none", claimUnderBudgets})
	register(line{"money", "the page of budgets and the report of usage among many entries", money})
}

// fiveBudgets all apply to each job of the first product in the phase.
var fiveBudgets = []string{
	`{"name":"Month","scope":"workspace","period":"month","limit_usd":"10000000","hard":false}`,
	`{"name":"Week","scope":"workspace","period":"week","limit_usd":"10000000"}`,
	`{"name":"Day","scope":"workspace","period":"day","limit_usd":"10000000"}`,
	`{"name":"Product","scope":"product","product":"default","period":"quarter","limit_usd":"10000000"}`,
	`{"name":"Milestone","scope":"milestone","phase":"` + moneyPhase + `","period":"once","limit_usd":"10000000"}`,
}

// openBudgets makes budgets over the API.
func (w *web) openBudgets(ctx context.Context, list []string) error {
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return err
	}
	defer owner.close()
	for _, b := range list {
		if _, err := owner.must(http.MethodPost, "/api/v1/budgets", []byte(b), http.StatusCreated); err != nil {
			return err
		}
	}
	return nil
}

// tellUsage measures how many entries of a model with a price agents report in a second,
// each for its own lease and in reports of 200: without budgets, and with one that is
// hard and holds for the workspace.
func tellUsage(ctx context.Context, s *environment) (figures []figure, err error) {
	for _, c := range []struct {
		name    string
		budgets []string
	}{
		{"usage told by 8 agents, 200 a report; wanted", nil},
		{"the same under a budget of the workspace; wanted", fiveBudgets[1:2]},
	} {
		var rate float64
		var told int
		err := s.withWeb(ctx, func(w *web) (err error) {
			if err := w.openBudgets(ctx, c.budgets); err != nil {
				return err
			}
			rate, told, err = w.tellUsage(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		f := versus(c.name, rate, usageWanted, "entries/s", told)
		f.AtLeast = 1
		figures = append(figures, f)
	}
	return figures, nil
}

// tellUsage lets agents report usage for some time, and gives entries a second and their
// number once it has found all of them in the sums.
func (w *web) tellUsage(ctx context.Context) (rate float64, told int, err error) {
	if err := w.submit(ctx, usageAgents); err != nil {
		return 0, 0, err
	}
	agents, err := w.register(ctx, usageAgents, 1)
	if err != nil {
		return 0, 0, err
	}
	if err := w.settle(ctx); err != nil {
		return 0, 0, err
	}
	var sent atomic.Int64
	group, within := errgroup.WithContext(ctx)
	began := time.Now()
	end := began.Add(w.environment.lasting(usageLasts))
	for _, a := range agents {
		group.Go(func() error {
			defer a.close()
			list, err := a.claim(nil, 1)
			if err != nil || len(list) != 1 {
				return errors.Join(err, errStrangeClaim)
			}
			for from := 0; time.Now().Before(end) && within.Err() == nil; from += usageBatch {
				if err := a.tell(list[0], from); err != nil {
					return err
				}
				sent.Add(usageBatch)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, 0, err
	}
	took, told := time.Since(began), int(sent.Load())
	rate = float64(told) / took.Seconds()
	w.environment.sayf("%d agents told %d entries in %.1f s: %.0f entries/s", usageAgents, told, took.Seconds(), rate)
	return rate, told, w.asOwner(ctx, func(owner *pgx.Conn) error { return checkUsage(ctx, owner, told) })
}

// tell reports 200 new entries of a lease, of which none may be known or refused.
func (a *agent) tell(l lease, from int) error {
	body := l.append(nil, "")
	body = append(body[:len(body)-1], `,"entries":[`...)
	at := time.Now().UTC().Format(time.RFC3339)
	for i := range usageBatch {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"id":"%s-%d","provider":"anthropic","model":"claude-sonnet-4-5","provider_session":"session-%s",`+
			`"input_tokens":%d,"output_tokens":%d,"cache_read_tokens":20000,"cache_write_tokens":800,"operation":"edit","at":%q}`,
			a.name, from+i, a.name, 100+i, 200+i, at)
	}
	got, err := a.must(http.MethodPost, "/api/v1/fleet/usage", append(body, `]}`...), http.StatusOK)
	if err != nil {
		return err
	}
	if n := strings.Count(string(got.body), `"status":"recorded"`); n != usageBatch {
		return fmt.Errorf("%d of %d entries are recorded: %.500s", n, usageBatch, got.body)
	}
	return nil
}

// checkUsage finds an error unless the entries are there, all of them with a price, and
// the sums of leases, of hours and of what budgets have settled are theirs.
func checkUsage(ctx context.Context, owner *pgx.Conn, entries int) error {
	var there, priced int
	var agree bool
	err := owner.QueryRow(ctx, `SELECT e.n, e.priced, e.n = l.n AND e.n = h.n AND e.nanos = l.nanos AND e.nanos = h.nanos
			AND NOT EXISTS (SELECT FROM budget_period p JOIN budget b ON b.id = p.budget_id
				WHERE b.scope = 'workspace' AND b.period = 'week' AND e.booked >= p.period_start AND p.settled_nanos <> e.nanos)
		FROM (SELECT count(*) AS n, count(price_id) AS priced, sum(charged_nanos) AS nanos, min(booked_at) AS booked FROM usage_entry) e,
			(SELECT sum(entries) AS n, sum(charged_nanos) AS nanos FROM job_usage) l,
			(SELECT sum(entries) AS n, sum(charged_nanos) AS nanos FROM usage_hour) h`).Scan(&there, &priced, &agree)
	if err == nil && (there != entries || priced != entries || !agree) {
		err = fmt.Errorf("%d entries are there, %d with a price, of %d; their sums agree: %t", there, priced, entries, agree)
	}
	return err
}

// claimUnderBudgets measures claims and completions under five budgets that hold for each
// job, and without any, by turns: each side twice, with half of the jobs.
func claimUnderBudgets(ctx context.Context, s *environment) ([]figure, error) {
	n := s.sized(claimJobs/2, 2*claimAgents)
	var took [2]float64 // for a job; without budgets and under them
	for _, under := range []int{0, 1, 1, 0} {
		err := s.withWeb(ctx, func(w *web) error {
			w.phase = moneyPhase
			if err := w.openBudgets(ctx, fiveBudgets[:under*len(fiveBudgets)]); err != nil {
				return err
			}
			rate, err := w.drain(ctx, n, way{})
			if err != nil {
				return err
			}
			took[under] += 1 / rate
			s.sayf("under %d budgets: %.0f jobs/s", under*len(fiveBudgets), rate)
			return w.checkRuns(ctx, under*len(fiveBudgets), n)
		})
		if err != nil {
			return nil, err
		}
	}
	f := versus("claim + complete under five budgets; under none", 2/took[1], 2/took[0], "jobs/s", 2*n)
	f.AtLeast = budgetsLimit
	return []figure{f}, nil
}

// checkRuns finds an error unless each of so many budgets has counted n runs.
func (w *web) checkRuns(ctx context.Context, budgets, n int) error {
	return w.asOwner(ctx, func(owner *pgx.Conn) error {
		var right int
		err := owner.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM budget_period GROUP BY budget_id HAVING sum(runs) = $1) p`,
			n).Scan(&right)
		if err == nil && right != budgets {
			err = fmt.Errorf("%d of %d budgets have counted %d runs", right, budgets, n)
		}
		return err
	})
}

// spending writes usage as agents would have reported it within 30 days: of each job in two
// or three hours and of one or two models, booked under one of several products, as if
// jobs had been moved since. Budgets have settled what was charged in their periods.
var spending = []struct{ what, sql string }{
	{"entries", `INSERT INTO usage_entry (workspace_id, id, job_id, epoch, agent_id, product_id, provider, model, provider_session,
			input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reported_nanos, price_id, computed_nanos, charged_nanos,
			operation, at, booked_at)
		SELECT workspace_id, 'entry-' || n || '-' || e, id, 1, '01900002-0000-7000-8000-000000000000', product_id, 'anthropic',
			CASE WHEN large THEN 'claude-sonnet-4-5' ELSE 'claude-haiku-4-5' END, 'session-' || n, input, output, cached, written,
			CASE WHEN e % 5 = 0 THEN nanos END, CASE WHEN large THEN -6 ELSE -9 END, nanos, nanos, 'edit', at, at
		FROM (SELECT *, (input * 3 + output * 15) * 1000 / part + (cached * 300 + written * 3750) / part AS nanos FROM (
			SELECT j.*, e, e % (1 + n % 2) = 0 AS large, CASE WHEN e % (1 + n % 2) = 0 THEN 1 ELSE 3 END AS part,
				began + make_interval(hours => e % (2 + n % 2), secs => e * 30) AS at, 100 + (n * 7 + e * 13) % 2000 AS input,
				50 + (n + e * 17) % 900 AS output, 5000 + (n * 3 + e * 11) % 30000 AS cached, (n + e) % 2000 AS written
			FROM (SELECT j.workspace_id, j.id, p.id AS product_id, n, date_trunc('hour', now() - interval '4 hours'
					- interval '30 days' * (@jobs - n) / @jobs, 'UTC') AS began
				FROM (SELECT *, substr(key, 3)::int AS n FROM job WHERE key LIKE 'L-%') j JOIN (SELECT id, workspace_id,
					row_number() OVER (ORDER BY name) - 1 AS place, count(*) OVER () AS places FROM product) p
					ON p.workspace_id = j.workspace_id AND p.place = n % p.places) j, generate_series(0, @each - 1) e) t) t ORDER BY at`},
	{"sums of leases", `INSERT INTO job_usage (workspace_id, job_id, epoch, entries, unpriced, input_tokens, output_tokens,
			cache_read_tokens, cache_write_tokens, reported_nanos, charged_nanos, computed_nanos)
		SELECT workspace_id, job_id, epoch, count(*), 0, sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
			sum(cache_write_tokens), sum(coalesce(reported_nanos, 0)), sum(charged_nanos), sum(computed_nanos)
		FROM usage_entry GROUP BY workspace_id, job_id, epoch`},
	{"sums of hours", `INSERT INTO usage_hour (workspace_id, hour, job_id, epoch, provider, model, product_id, phase, repo, agent, factory,
			entries, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, charged_nanos,
			computed_nanos, reported_nanos, imputed_nanos, unpriced_tokens, unpriced)
		SELECT e.workspace_id, date_trunc('hour', e.booked_at, 'UTC'), e.job_id, e.epoch, e.provider, e.model, e.product_id,
			CASE WHEN min(e.at) > now() - interval '15 days' THEN '@phase' ELSE '' END, '', min(a.agent), min(a.factory), count(*),
			sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), 0, sum(charged_nanos),
			sum(computed_nanos), sum(coalesce(reported_nanos, 0)), 0, 0, 0
		FROM usage_entry e JOIN attempt a ON a.workspace_id = e.workspace_id AND a.job_id = e.job_id AND a.epoch = e.epoch
		GROUP BY 1, 2, 3, 4, 5, 6, 7`},
	{"ledgers", `INSERT INTO budget_ledger (workspace_id, budget_id, period_start, kind, from_account, to_account, nanos, tokens, runs,
			job_id, epoch, at)
		SELECT p.workspace_id, p.budget_id, p.period_start, 'settle', 'free', 'settled', h.charged_nanos, h.input_tokens + h.output_tokens
			+ h.cache_read_tokens + h.cache_write_tokens, 1, h.job_id, h.epoch, h.hour
		FROM budget b JOIN budget_period p ON p.workspace_id = b.workspace_id AND p.budget_id = b.id
		JOIN usage_hour h ON h.workspace_id = b.workspace_id AND h.hour >= p.period_start AND h.hour < p.period_end
			AND (b.product_id IS NULL OR b.product_id = h.product_id) AND (b.phase = '' OR b.phase = h.phase)
		ORDER BY h.hour`},
	{"sums of budgets", `UPDATE budget_period p SET settled_nanos = l.nanos, settled_tokens = l.tokens, runs = l.runs
		FROM (SELECT workspace_id, budget_id, period_start, sum(nanos) AS nanos, sum(tokens) AS tokens, sum(runs) AS runs
			FROM budget_ledger WHERE kind = 'settle' GROUP BY 1, 2, 3) l
		WHERE l.workspace_id = p.workspace_id AND l.budget_id = p.budget_id AND l.period_start = p.period_start`},
	{"hours of budgets", `INSERT INTO budget_hour (workspace_id, budget_id, period_start, hour, limit_nanos, settled_nanos, reserved_nanos,
			settled_tokens, reserved_tokens, runs)
		SELECT p.workspace_id, p.budget_id, p.period_start, l.hour, p.limit_nanos, sum(l.nanos) OVER w, 0, sum(l.tokens) OVER w, 0,
			sum(l.runs) OVER w
		FROM budget_period p JOIN (SELECT workspace_id, budget_id, period_start, at AS hour, sum(nanos) AS nanos, sum(tokens) AS tokens,
				sum(runs) AS runs FROM budget_ledger WHERE kind = 'settle' GROUP BY 1, 2, 3, 4) l
			ON l.workspace_id = p.workspace_id AND l.budget_id = p.budget_id AND l.period_start = p.period_start
		WINDOW w AS (PARTITION BY p.workspace_id, p.budget_id, p.period_start ORDER BY l.hour) ON CONFLICT DO NOTHING`},
}

// spend fills a workspace with completed jobs, their usage and five budgets.
func (w *web) spend(ctx context.Context, jobs int) error {
	if err := w.fill(ctx, load{completed: jobs}); err != nil {
		return err
	}
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return err
	}
	defer owner.close()
	for i := range moneyProducts - 1 {
		if _, err := owner.must(http.MethodPut, fmt.Sprint("/api/v1/products/product-", i), []byte(`{}`), http.StatusOK,
			http.StatusCreated); err != nil {
			return err
		}
	}
	if err := w.openBudgets(ctx, fiveBudgets); err != nil {
		return err
	}
	began := time.Now()
	numbers := strings.NewReplacer("@jobs", strconv.Itoa(jobs), "@each", strconv.Itoa(moneyEach), "@phase", moneyPhase)
	err = w.asOwner(ctx, func(owner *pgx.Conn) error {
		return pgx.BeginFunc(ctx, owner, func(tx pgx.Tx) error {
			for _, step := range spending {
				if _, err := tx.Exec(ctx, numbers.Replace(step.sql)); err != nil {
					return fmt.Errorf("filling %s: %w", step.what, err)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	w.environment.sayf("%d entries of %d jobs written in %.0f s", jobs*moneyEach, jobs, time.Since(began).Seconds())
	return w.settle(ctx)
}

// money measures the first byte of the page of budgets with a session, and the report of
// usage by product over a month, whose sums have to be those of the entries.
func money(ctx context.Context, s *environment) (figures []figure, err error) {
	err = s.withWeb(ctx, func(w *web) error {
		jobs := s.sized(moneyJobs, 100)
		if err := w.spend(ctx, jobs); err != nil {
			return err
		}
		if err := w.asOwner(ctx, func(owner *pgx.Conn) error { return checkUsage(ctx, owner, jobs*moneyEach) }); err != nil {
			return err
		}
		p, err := w.logIn(ctx, personEmail(0))
		if err != nil {
			return err
		}
		loads, err := s.budgetLoads(ctx, w, p)
		if err != nil {
			return err
		}
		figures = append(figures, within(fmt.Sprintf("budgets at %d entries: first byte, p95", jobs*moneyEach),
			ms(percentile(loads, 95)), budgetsPageLimit, "ms", len(loads)))
		reports, err := s.usageReports(ctx, w)
		if err != nil {
			return err
		}
		figures = append(figures, within(fmt.Sprintf("usage by product of %d entries, p95", jobs*moneyEach),
			ms(percentile(reports, 95)), usageReportLimit, "ms", len(reports)))
		return nil
	}, "FLEETBOARD_ADMIN_EMAIL="+personEmail(0), "FLEETBOARD_ADMIN_PASSWORD="+boardPassword)
	return figures, err
}

// budgetLoads loads the page of budgets again and again; the first time, when nothing of
// it was read before, is reported apart.
func (s *environment) budgetLoads(ctx context.Context, w *web, p *person) ([]time.Duration, error) {
	var all []time.Duration
	size := 0
	for range s.sized(moneyLoads, 5) + 1 {
		took, n, err := p.load(ctx, w.url+"/budgets")
		if err != nil {
			return nil, err
		}
		all, size = append(all, took), n
	}
	s.sayf("budgets: %.0f KB, the first time %.1f ms, then p50 %.1f ms, p99 %.1f ms", float64(size)/1000, ms(all[0]),
		ms(percentile(all[1:], 50)), ms(percentile(all[1:], 99)))
	return all[1:], nil
}

// usageReports gets the report again and again; what the last one says is compared.
func (s *environment) usageReports(ctx context.Context, w *web) ([]time.Duration, error) {
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return nil, err
	}
	defer owner.close()
	to := time.Now().UTC().Truncate(time.Hour)
	from := to.AddDate(0, 0, -31)
	asked := url.Values{"group_by": {"product"}, "from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)}}
	path := "/api/v1/usage?" + asked.Encode()
	var all []time.Duration
	var said json.RawMessage
	for range s.sized(moneyLoads, 5) + 1 {
		began := time.Now()
		got, err := owner.must(http.MethodGet, path, nil, http.StatusOK)
		if err != nil {
			return nil, err
		}
		all, said = append(all, time.Since(began)), append(said[:0], got.body...)
	}
	s.sayf("usage by product: the first time %.1f ms, then p50 %.1f ms, p99 %.1f ms", ms(all[0]), ms(percentile(all[1:], 50)),
		ms(percentile(all[1:], 99)))
	return all[1:], w.asOwner(ctx, func(owner *pgx.Conn) error { return checkReport(ctx, owner, said, from, to) })
}

// checkReport finds an error unless a report by product says what the entries add up to.
func checkReport(ctx context.Context, owner *pgx.Conn, said json.RawMessage, from, to time.Time) error {
	var groups, off int
	err := owner.QueryRow(ctx, `WITH said AS (
			SELECT g ->> 'group', (u ->> 'entries')::numeric, (u ->> 'input_tokens')::numeric, (u ->> 'output_tokens')::numeric,
				(u ->> 'cache_read_tokens')::numeric, (u ->> 'cache_write_tokens')::numeric, (u ->> 'cost_usd')::numeric * 1000000000,
				(u ->> 'reported_cost_usd')::numeric * 1000000000
			FROM jsonb_array_elements($1::jsonb -> 'items') g, LATERAL (SELECT g -> 'usage' AS u) u
		), raw AS (
			SELECT p.name, count(*)::numeric, sum(e.input_tokens), sum(e.output_tokens), sum(e.cache_read_tokens),
				sum(e.cache_write_tokens), sum(e.charged_nanos), coalesce(sum(e.reported_nanos), 0)
			FROM usage_entry e JOIN product p ON p.workspace_id = e.workspace_id AND p.id = e.product_id
			WHERE e.booked_at >= $2 AND e.booked_at < $3 GROUP BY p.name
		) SELECT (SELECT count(*) FROM raw), (SELECT count(*) FROM ((TABLE said EXCEPT TABLE raw)
			UNION ALL (TABLE raw EXCEPT TABLE said)) d)`, said, from, to).Scan(&groups, &off)
	if err == nil && (groups != moneyProducts || off > 0) {
		err = fmt.Errorf("%d products have entries, and %d rows of them differ in the report: %.500s", groups, off, said)
	}
	return err
}
