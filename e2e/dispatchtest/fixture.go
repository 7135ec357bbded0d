// Package dispatchtest is a workspace with everything that gives jobs to agents, for
// tests of dispatch and of its parts.
package dispatchtest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Fixture is a workspace with everything that gives jobs to agents.
type Fixture struct {
	T         testing.TB
	Ctx       context.Context
	DB        *db.DB
	Workspace ids.ID
	Owner     tenancy.Principal
	Jobs      *jobs.Service
	Fleet     *fleet.Service
	Dispatch  *dispatch.Service
	Tokens    *Tokens
	Wake      *notifier.Notifier
	Listening chan struct{} // closed once everybody was notified that wake-ups may have been missed before
}

// Tokens issues tokens that only say who they are for.
type Tokens struct {
	mu     sync.Mutex
	Issued []tenancy.Principal
}

// IssueAgentToken notes whom a token is for.
func (k *Tokens) IssueAgentToken(p tenancy.Principal) (string, time.Time, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Issued = append(k.Issued, p)
	return "token of " + p.Name, time.Now().Add(time.Hour), nil
}

// New returns an empty workspace in a database of its own.
func New(t *testing.T) *Fixture {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return In(t, d, dbfactory.Workspace(t, d))
}

// In is another process on the same database.
func In(t testing.TB, d *db.DB, workspace ids.ID) *Fixture {
	t.Helper()
	return Over(t, d, workspace, transporttest.New(t, d))
}

// Over is another process on the same database, with a transport of its own.
func Over(t testing.TB, d *db.DB, workspace ids.ID, transport notifier.Transport) *Fixture {
	t.Helper()
	n := notifier.New(transport, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	w := &Fixture{T: t, Ctx: t.Context(), DB: d, Workspace: workspace, Owner: dbfactory.Person(workspace, tenancy.RoleOwner),
		Tokens: &Tokens{}, Wake: n, Listening: make(chan struct{})}
	w.Jobs = jobs.NewService(d, n, dbtest.Vault(d), nil)
	w.Fleet = fleet.NewService(d, n)
	w.Dispatch = dispatch.New(d, w.Jobs, n, w.Tokens, nil, nil, slog.New(slog.DiscardHandler))
	var once sync.Once
	n.Subscribe("listening:", func(string) { once.Do(func() { close(w.Listening) }) })
	go func() { defer close(done); _ = n.Run(ctx) }()
	t.Cleanup(func() { w.Dispatch.Close(); stop(); <-done })
	return w
}

// Job makes a job; title is its title, change says what else matters.
func (w *Fixture) Job(title string, change ...func(*jobs.New)) jobs.Job {
	w.T.Helper()
	n := jobs.New{Spec: jobs.Spec{Title: title}}
	for _, c := range change {
		c(&n)
	}
	made, err := w.Jobs.Create(w.Ctx, w.Owner, nil, n)
	if err != nil {
		w.T.Fatalf("create %s: %v", title, err)
	}
	return made.Jobs[0]
}

// Priority returns a job with a priority.
func Priority(p int) func(*jobs.New) { return func(n *jobs.New) { n.Priority = &p } }

// Needs returns a job that needs capabilities.
func Needs(tokens ...string) func(*jobs.New) { return func(n *jobs.New) { n.Capabilities = tokens } }

// DependsOn returns a job that waits for others.
func DependsOn(keys ...string) func(*jobs.New) { return func(n *jobs.New) { n.DependsOn = keys } }

// Reviewed is a job that is reviewed.
func Reviewed(n *jobs.New) { yes := true; n.ReviewOverride = &yes }

// Retries returns a job that is tried again so often, after so many seconds.
func Retries(most, backoff int) func(*jobs.New) {
	return func(n *jobs.New) { n.MaxRetries, n.RetryBackoffSeconds = &most, &backoff }
}

// InProduct returns a job of a product.
func InProduct(name string) func(*jobs.New) { return func(n *jobs.New) { n.Product = name } }

// InRepo returns a job of a repo.
func InRepo(name string) func(*jobs.New) { return func(n *jobs.New) { n.Repo = name } }

// Estimate returns a job with an estimate.
func Estimate(minutes int) func(*jobs.New) {
	return func(n *jobs.New) { n.EstimatedMinutes = &minutes }
}

// Losses returns a job whose lease may be lost so often.
func Losses(most int) func(*jobs.New) { return func(n *jobs.New) { n.MaxLost = &most } }

// Product makes a product, or changes what it allows.
func (w *Fixture) Product(name string, allows jobs.ProductSettings) jobs.Product {
	w.T.Helper()
	p, _, err := w.Jobs.PutProduct(w.Ctx, w.Owner, name, allows)
	if err != nil {
		w.T.Fatalf("product %s: %v", name, err)
	}
	return p
}

// Act carries out a person's verb, which must be possible.
func (w *Fixture) Act(j jobs.Job, verb jobs.Trigger) jobs.Job {
	w.T.Helper()
	now, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: verb, Reason: "because"})
	if err != nil {
		w.T.Fatalf("%s %s: %v", verb, j.Key, err)
	}
	return now
}

// Complete hands a claimed job in.
func (w *Fixture) Complete(agent tenancy.Principal, held jobs.Job) jobs.Job {
	w.T.Helper()
	done, err := w.Dispatch.Complete(w.Ctx, agent, Ref(held), report.Completion{})
	if err != nil {
		w.T.Fatalf("complete %s: %v", held.Key, err)
	}
	return done.Job
}

// Passed moves the clocks of a job's lease back by minutes.
func (w *Fixture) Passed(j jobs.Job, minutes int) {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET claimed_at = claimed_at - make_interval(mins => $2),
		warned_at = warned_at - make_interval(mins => $2), progress_at = progress_at - make_interval(mins => $2)
		WHERE job_id = $1`, j.ID, minutes)
}

// Agent registers an agent of its own factory and returns it as a principal.
func (w *Fixture) Agent(name string, change ...func(*fleet.Registration)) tenancy.Principal {
	w.T.Helper()
	r := fleet.Registration{Agent: name, BootID: "boot-1", MaxConcurrentJobs: 100, Factory: fleet.FactoryInfo{
		Name: "factory-of-" + name, OS: "linux", Engines: []string{"claude"}, Seats: 1000,
		Repos: []fleet.Repo{{Name: "ledger-api"}}}}
	for _, c := range change {
		c(&r)
	}
	if _, err := w.Dispatch.Register(w.Ctx, dbfactory.Enrolment(w.Workspace), r); err != nil {
		w.T.Fatalf("register %s: %v", name, err)
	}
	return w.Tokens.Issued[len(w.Tokens.Issued)-1]
}

// Claim takes one job, which must be there.
func (w *Fixture) Claim(agent tenancy.Principal) jobs.Job {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
	if err != nil {
		w.T.Fatalf("claim: %v", err)
	}
	if len(got.Jobs) != 1 {
		w.T.Fatalf("claim gave %d jobs (%s)", len(got.Jobs), got.Reason)
	}
	return got.Jobs[0]
}

// Nothing asserts that a claim gives nothing, for that reason.
func (w *Fixture) Nothing(agent tenancy.Principal, reason string) {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{})
	if err != nil || len(got.Jobs) != 0 || got.Reason != reason {
		w.T.Fatalf("claim = %d jobs, reason %q, %v; want none for %q", len(got.Jobs), got.Reason, err, reason)
	}
}

// Ref names the lease on a job.
func Ref(j jobs.Job) lease.Ref { return lease.Ref{Job: j.Key, Epoch: j.Epoch} }

// Get reads a job again.
func (w *Fixture) Get(j jobs.Job) jobs.Job {
	w.T.Helper()
	now, err := w.Jobs.Get(w.Ctx, w.Owner, j.Key)
	if err != nil {
		w.T.Fatalf("get %s: %v", j.Key, err)
	}
	return now
}

// Want asserts a job's status.
func (w *Fixture) Want(j jobs.Job, status jobs.Status) jobs.Job {
	w.T.Helper()
	now := w.Get(j)
	if now.Status != status {
		w.T.Fatalf("%s is %s; want %s", j.Key, now.Status, status)
	}
	return now
}

// Expire moves a lease's end into the past.
func (w *Fixture) Expire(j jobs.Job) {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second' WHERE job_id = $1`, j.ID)
}

// Consistent asserts P3: a lease exactly while assigned or running, a ready row
// exactly while ready, one open attempt for each lease; and that each change of a
// status has one event, a repo's slot a job that is ready or worked on, and a gate a
// parent that waits exactly while a child is open.
func (w *Fixture) Consistent() {
	w.T.Helper()
	wrong := dbfactory.Text(w.T, w.DB, `SELECT concat_ws('; ',
		(SELECT count(*) || ' leased jobs without a lease' FROM job j LEFT JOIN job_lease l ON l.job_id = j.id
			WHERE (j.status IN ('assigned', 'running')) <> (l.job_id IS NOT NULL) HAVING count(*) > 0),
		(SELECT count(*) || ' ready jobs without a ready row' FROM job j LEFT JOIN job_ready r ON r.job_id = j.id
			WHERE (j.status = 'ready') <> (r.job_id IS NOT NULL) HAVING count(*) > 0),
		(SELECT count(*) || ' leases of another epoch' FROM job j JOIN job_lease l ON l.job_id = j.id
			WHERE l.epoch <> j.epoch HAVING count(*) > 0),
		(SELECT count(*) || ' open attempts without a lease' FROM attempt a LEFT JOIN job_lease l
			ON l.job_id = a.job_id AND l.epoch = a.epoch WHERE (a.outcome = '') <> (l.job_id IS NOT NULL) HAVING count(*) > 0),
		(SELECT count(*) || ' jobs whose events do not lead to their status' FROM job j WHERE j.status IS DISTINCT FROM (
			SELECT c->>'new' FROM event e, jsonb_array_elements(e.changes) c
			WHERE e.workspace_id = j.workspace_id AND e.job_id = j.id AND c->>'field' = 'status' ORDER BY e.id DESC LIMIT 1)
			HAVING count(*) > 0),
		(SELECT count(*) || ' changes of a status that do not follow one another' FROM (
			SELECT c->>'old' AS old, lag(c->>'new') OVER (PARTITION BY e.job_id ORDER BY e.id) AS before
			FROM event e, jsonb_array_elements(e.changes) c WHERE c->>'field' = 'status') s
			WHERE s.old IS DISTINCT FROM s.before HAVING count(*) > 0),
		(SELECT count(*) || ' slots of jobs that do not need them' FROM repo_slot s JOIN job j ON j.id = s.job_id
			WHERE j.status NOT IN ('ready', 'assigned', 'running') OR j.repo <> s.repo HAVING count(*) > 0),
		(SELECT count(*) || ' ready jobs with an open child behind a gate' FROM job j
			JOIN job_dependency g ON g.job_id = j.id AND g.type = 'gate'
			JOIN job c ON c.id = g.depends_on_id AND c.status NOT IN ('completed', 'failed', 'aborted', 'archived')
			WHERE j.status = 'ready' HAVING count(*) > 0),
		(SELECT count(*) || ' jobs that wait for children who have ended' FROM job j
			WHERE j.status = 'waiting' AND j.wait_reason = 'dependency' AND NOT EXISTS (SELECT FROM job_dependency x
				JOIN job c ON c.id = x.depends_on_id AND c.status <> 'completed' WHERE x.job_id = j.id
				AND (x.type = 'blocks' OR x.type = 'gate' AND c.status NOT IN ('failed', 'aborted', 'archived')))
			AND EXISTS (SELECT FROM job_dependency x WHERE x.job_id = j.id AND x.type = 'gate') HAVING count(*) > 0))`)
	if wrong != "" {
		w.T.Error(wrong)
	}
}
