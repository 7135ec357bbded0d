package ledger

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// services is the services on a database of their own, without the loops of a whole server: a
// life says when the coordinator works.
type services struct {
	*dispatchtest.Fixture
	money *budgets.Service
	conn  *pgx.Conn // the database's owner: moves clocks
	zone  string    // in which it is about noon, so that no day ends meanwhile
}

func newServices(t *testing.T) *services {
	t.Helper()
	w := &services{Fixture: dispatchtest.New(t)}
	w.money, w.conn = budgets.NewService(w.DB, w.Wake, w.Dispatch), dbtest.Owner(t, w.DB)
	west := time.Now().UTC().Hour() - 12
	w.zone = fmt.Sprintf("Etc/GMT%+d", west)
	return w
}

// agent is one that works, or that was ended.
type agent struct {
	tenancy.Principal
	over bool
}

// life is one random life of the money of a workspace, and the model beside it.
type life struct {
	*services
	*model
	seed   uint64
	r      *rand.Rand
	agents []*agent // that work
	named  int      // names that were given
	trace  []string
	opened map[ids.ID]map[int]bool // the periods that are stored, by budget and day
}

func (w *services) newLife(t *testing.T, seed uint64) *life {
	t.Helper()
	here := *w.Fixture
	here.T, here.Ctx, here.Workspace = t, t.Context(), ids.New()
	here.Owner = dbfactory.Person(here.Workspace, tenancy.RoleOwner)
	l := &life{services: &services{Fixture: &here, money: w.money, conn: w.conn, zone: w.zone}, model: newModel(), seed: seed,
		r: rand.New(rand.NewPCG(seed, 32))}
	l.exec(`INSERT INTO workspace (id, slug, name) VALUES ($1, $2, 'Kestrel Labs')`, l.Workspace, fmt.Sprint("life-", seed))
	l.exec(`INSERT INTO job_number (workspace_id) VALUES ($1)`, l.Workspace)
	l.exec(`INSERT INTO product (workspace_id, id, name) SELECT $1, gen_random_uuid(), unnest($2::text[])`, l.Workspace, products)
	l.agents = []*agent{l.hire(), l.hire()}
	l.createJob()
	l.createBudget()
	return l
}

func (l *life) exec(statement string, args ...any) {
	l.T.Helper()
	if _, err := l.conn.Exec(l.Ctx, statement, args...); err != nil {
		l.fatal("%s: %v", statement, err)
	}
}

// trail is said before the moves of a life that ended with a surprise.
const trail = "after these moves of the life with the seed"

func (l *life) fatal(format string, args ...any) {
	l.T.Helper()
	l.T.Fatalf("%s\n%s %d:\n  %s", fmt.Sprintf(format, args...), trail, l.seed, strings.Join(l.trace, "\n  "))
}

func (l *life) note(format string, args ...any) {
	l.trace = append(l.trace, fmt.Sprintf(format, args...))
}

// stored is how a period is stored: itself, the sums of its ledger and what leases hold.
type stored struct {
	period, ledger period
	held           [meters]int64
}

const readPeriods = `SELECT p.budget_id, p.period_start, p.limit_nanos, p.limit_tokens, p.limit_runs, p.settled_nanos, p.settled_tokens, p.runs,
	p.reserved_nanos, p.reserved_tokens, l.*, v.*,
	ARRAY(SELECT a.threshold::int FROM budget_alert a WHERE a.workspace_id = p.workspace_id AND a.budget_id = p.budget_id
		AND a.period_start = p.period_start AND a.threshold <= 100)
	FROM budget_period p CROSS JOIN LATERAL (SELECT
		coalesce(sum(CASE WHEN from_account = 'outside' THEN nanos WHEN to_account = 'outside' THEN -nanos END), 0)::bigint,
		coalesce(sum(CASE WHEN from_account = 'outside' THEN tokens WHEN to_account = 'outside' THEN -tokens END), 0)::bigint,
		coalesce(sum(CASE WHEN from_account = 'outside' THEN runs WHEN to_account = 'outside' THEN -runs END), 0)::bigint,
		coalesce(sum(CASE WHEN to_account = 'settled' THEN nanos END), 0)::bigint, coalesce(sum(CASE WHEN to_account = 'settled' THEN tokens END), 0)::bigint,
		coalesce(sum(CASE WHEN to_account = 'settled' THEN runs END), 0)::bigint,
		coalesce(sum(CASE WHEN from_account = 'reserved' THEN -nanos WHEN to_account = 'reserved' THEN nanos END), 0)::bigint,
		coalesce(sum(CASE WHEN from_account = 'reserved' THEN -tokens WHEN to_account = 'reserved' THEN tokens END), 0)::bigint
		FROM budget_ledger x WHERE x.workspace_id = p.workspace_id AND x.budget_id = p.budget_id AND x.period_start = p.period_start) l
	CROSS JOIN LATERAL (SELECT coalesce(sum(r.held_nanos), 0)::bigint, coalesce(sum(r.held_tokens), 0)::bigint
		FROM budget_reservation r JOIN job_lease k ON k.workspace_id = r.workspace_id AND k.job_id = r.job_id AND k.epoch = r.epoch
		WHERE r.workspace_id = p.workspace_id AND r.budget_id = p.budget_id AND r.period_start = p.period_start) v
	WHERE p.workspace_id = $1`

// periods reads what is stored of each budget, by the days on which its periods begin.
func (l *life) periods() map[ids.ID]map[int]stored {
	l.T.Helper()
	rows, err := l.conn.Query(l.Ctx, readPeriods, l.Workspace)
	if err != nil {
		l.fatal("read periods: %v", err)
	}
	defer rows.Close()
	all := map[ids.ID]map[int]stored{}
	for rows.Next() {
		var s stored
		var of ids.ID
		var start time.Time
		var told []int
		p, x := &s.period, &s.ledger
		for meter := range meters {
			x.limit[meter] = new(int64)
		}
		err := rows.Scan(&of, &start, &p.limit[money], &p.limit[tokens], &p.limit[runs], &p.settled[money], &p.settled[tokens], &p.settled[runs],
			&p.reserved[money], &p.reserved[tokens], x.limit[money], x.limit[tokens], x.limit[runs], &x.settled[money], &x.settled[tokens],
			&x.settled[runs], &x.reserved[money], &x.reserved[tokens], &s.held[money], &s.held[tokens], &told)
		if err != nil {
			l.fatal("read periods: %v", err)
		}
		p.alerts = map[int]bool{}
		for _, at := range told {
			p.alerts[at] = true
		}
		if all[of] == nil {
			all[of] = map[int]stored{}
		}
		all[of][l.dayOf(start)] = s
	}
	if rows.Err() != nil {
		l.fatal("read periods: %v", rows.Err())
	}
	return all
}

// dayOf returns the day on which a stored period begins.
func (l *life) dayOf(start time.Time) int {
	if start.Unix() == 0 {
		return 0
	}
	return l.day - int(time.Since(start)/(24*time.Hour))
}

// compare holds what is stored against the model.
func (l *life) compare() {
	l.T.Helper()
	l.readJobs()
	found := l.periods()
	l.opened = map[ids.ID]map[int]bool{}
	for _, b := range append(slices.Clone(l.budgets), l.removed...) {
		l.opened[b.id] = map[int]bool{}
		for day, s := range found[b.id] {
			l.opened[b.id][day] = true
			if b.periods[day] == nil {
				b.periods[day] = &period{limit: b.limit, alerts: map[int]bool{}} // a refused claim has opened it
			}
			if s.held != s.period.reserved {
				l.fatal("%s has reserved %v, leases hold %v", b.name, s.period.reserved, s.held)
			}
			if is, want := s.period.sums(), s.ledger.sums(); is != want {
				l.fatal("%s stands at %s, its ledger at %s", b.name, is, want)
			}
		}
		for day, p := range b.periods {
			s, open := found[b.id][day]
			if !open {
				s.period = period{limit: b.limit}
				delete(b.periods, day) // a refusal has not opened it
			}
			if is, want := s.period.String(), p.String(); is != want {
				l.fatal("%s of day %d is %s; want %s", b.name, day, is, want)
			}
		}
	}
}

// sums returns what a ledger can say: a limit that is not there is 0.
func (p *period) sums() string {
	limit := [meters]int64{}
	for meter, n := range p.limit {
		if n != nil {
			limit[meter] = *n
		}
	}
	return fmt.Sprint("limit ", limit, ", settled ", p.settled, ", reserved ", p.reserved)
}

func (p *period) String() string {
	var unlimited []int
	for meter, n := range p.limit {
		if n == nil {
			unlimited = append(unlimited, meter)
		}
	}
	return fmt.Sprint(p.sums(), ", without limit ", unlimited, ", told ", slices.Sorted(maps.Keys(p.alerts)))
}

// readJobs reads how jobs and leases stand, of which the model only knows what it did.
func (l *life) readJobs() {
	l.T.Helper()
	rows, err := l.conn.Query(l.Ctx, `SELECT j.id, j.status, j.wait_reason = 'budget', coalesce(k.epoch, 0), coalesce(k.directive = 'warn' AND k.directive_by = 'budget', false)
		FROM job j LEFT JOIN job_lease k ON k.workspace_id = j.workspace_id AND k.job_id = j.id WHERE j.workspace_id = $1`, l.Workspace)
	if err != nil {
		l.fatal("read jobs: %v", err)
	}
	defer rows.Close()
	lasting := map[leaseName]bool{}
	for rows.Next() {
		var id ids.ID
		var status string
		var held, warned bool
		var epoch int64
		if err := rows.Scan(&id, &status, &held, &epoch, &warned); err != nil {
			l.fatal("read jobs: %v", err)
		}
		j := l.jobs[slices.IndexFunc(l.jobs, func(j *job) bool { return j.id == id })]
		j.status, j.held = status, held
		if epoch > 0 {
			name := leaseName{id, epoch}
			lasting[name] = true
			if i := slices.IndexFunc(l.leases, func(x *lease) bool { return x.leaseName == name }); i >= 0 {
				l.leases[i].warned = warned
			}
		}
	}
	if rows.Err() != nil {
		l.fatal("read jobs: %v", rows.Err())
	}
	for _, x := range l.leases {
		if x.lasts != lasting[x.leaseName] {
			l.fatal("the lease of %s, epoch %d, lasts: %t; want %t", x.leaseName.job, x.epoch, lasting[x.leaseName], x.lasts)
		}
		delete(lasting, x.leaseName)
	}
	if len(lasting) > 0 {
		l.fatal("there are leases that nobody was given: %v", lasting)
	}
}

// isClean checks that the audit finds nothing in all lives of the database.
func (w *services) isClean(t *testing.T) {
	t.Helper()
	r, err := audit.Run(context.WithoutCancel(t.Context()), w.DB)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if c.Found > 0 {
			t.Errorf("the audit finds %d of %s %ss: %.2000v", c.Found, c.Name, trail, r.Findings)
		}
	}
}

// ready reports whether a claim may be given the job.
func (j *job) ready() bool { return j.status == string(jobs.Ready) }
