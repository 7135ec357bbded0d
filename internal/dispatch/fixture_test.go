package dispatch_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/notifier"
	"fleetboard/internal/tenancy"
)

// world is a workspace with everything that gives jobs to agents.
type world struct {
	t         testing.TB
	ctx       context.Context
	db        *db.DB
	workspace ids.ID
	owner     tenancy.Principal
	jobs      *jobs.Service
	fleet     *fleet.Service
	dispatch  *dispatch.Service
	tokens    *tokens
	wake      *notifier.Notifier
	listening chan struct{} // closed once everybody was told that wake-ups may have been missed before
}

// tokens issues tokens that only say who they are for.
type tokens struct {
	mu     sync.Mutex
	issued []tenancy.Principal
}

func (k *tokens) IssueAgentToken(p tenancy.Principal) (string, time.Time, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.issued = append(k.issued, p)
	return "token of " + p.Name, time.Now().Add(time.Hour), nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	return inWorkspace(t, d, dbfactory.Workspace(t, d))
}

// inWorkspace is another process on the same database.
func inWorkspace(t testing.TB, d *db.DB, workspace ids.ID) *world {
	t.Helper()
	n := notifier.New(d, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	w := &world{t: t, ctx: t.Context(), db: d, workspace: workspace, owner: dbfactory.Person(workspace, tenancy.RoleOwner), tokens: &tokens{}, wake: n,
		listening: make(chan struct{})}
	w.jobs = jobs.NewService(d, n, dbtest.Vault(d))
	w.fleet = fleet.NewService(d, n)
	w.dispatch = dispatch.New(d, w.jobs, n, w.tokens, slog.New(slog.DiscardHandler))
	var once sync.Once
	n.Subscribe("listening:", func(string) { once.Do(func() { close(w.listening) }) })
	go func() { defer close(done); _ = n.Run(ctx) }()
	t.Cleanup(func() { w.dispatch.Close(); stop(); <-done })
	return w
}

// job makes a job; title is its title, change says what else matters.
func (w *world) job(title string, change ...func(*jobs.New)) jobs.Job {
	w.t.Helper()
	n := jobs.New{Title: title}
	for _, c := range change {
		c(&n)
	}
	made, err := w.jobs.Create(w.ctx, w.owner, jobs.Origin{}, n)
	if err != nil {
		w.t.Fatalf("create %s: %v", title, err)
	}
	return made.Jobs[0]
}

func priority(p int) func(*jobs.New)           { return func(n *jobs.New) { n.Priority = &p } }
func needs(tokens ...string) func(*jobs.New)   { return func(n *jobs.New) { n.Capabilities = tokens } }
func dependsOn(keys ...string) func(*jobs.New) { return func(n *jobs.New) { n.DependsOn = keys } }
func reviewed(n *jobs.New)                     { yes := true; n.ReviewRequired = &yes }
func retries(most, backoff int) func(*jobs.New) {
	return func(n *jobs.New) { n.MaxRetries, n.RetryBackoffSeconds = &most, &backoff }
}
func inProduct(name string) func(*jobs.New) { return func(n *jobs.New) { n.Product = name } }
func inRepo(name string) func(*jobs.New)    { return func(n *jobs.New) { n.Repo = name } }
func estimate(minutes int) func(*jobs.New) {
	return func(n *jobs.New) { n.EstimatedMinutes = &minutes }
}
func losses(most int) func(*jobs.New) { return func(n *jobs.New) { n.MaxLost = &most } }

// product makes a product, or changes what it allows.
func (w *world) product(name string, allows jobs.ProductSettings) jobs.Product {
	w.t.Helper()
	p, _, err := w.jobs.PutProduct(w.ctx, w.owner, name, allows)
	if err != nil {
		w.t.Fatalf("product %s: %v", name, err)
	}
	return p
}

// act carries out a person's verb, which must be possible.
func (w *world) act(j jobs.Job, verb jobs.Trigger) jobs.Job {
	w.t.Helper()
	now, err := w.dispatch.Act(w.ctx, w.owner, j.Key, dispatch.Action{Verb: verb, Reason: "because"})
	if err != nil {
		w.t.Fatalf("%s %s: %v", verb, j.Key, err)
	}
	return now
}

// complete hands a claimed job in.
func (w *world) complete(agent tenancy.Principal, held jobs.Job) jobs.Job {
	w.t.Helper()
	done, err := w.dispatch.Complete(w.ctx, agent, ref(held), dispatch.Completion{})
	if err != nil {
		w.t.Fatalf("complete %s: %v", held.Key, err)
	}
	return done
}

// passed moves the clocks of a job's lease back by minutes.
func (w *world) passed(j jobs.Job, minutes int) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET claimed_at = claimed_at - make_interval(mins => $2),
		warned_at = warned_at - make_interval(mins => $2), progress_at = progress_at - make_interval(mins => $2)
		WHERE job_id = $1`, j.ID, minutes)
}

// agent registers an agent of its own factory and returns it as a principal.
func (w *world) agent(name string, change ...func(*fleet.Registration)) tenancy.Principal {
	w.t.Helper()
	r := fleet.Registration{Agent: name, BootID: "boot-1", MaxConcurrentJobs: 100, Factory: fleet.FactoryInfo{
		Name: "factory-of-" + name, OS: "linux", Engines: []string{"claude"}, Seats: 1000,
		Repos: []fleet.Repo{{Name: "ledger-api"}}}}
	for _, c := range change {
		c(&r)
	}
	if _, err := w.dispatch.Register(w.ctx, dbfactory.Enrolment(w.workspace), r); err != nil {
		w.t.Fatalf("register %s: %v", name, err)
	}
	return w.tokens.issued[len(w.tokens.issued)-1]
}

// claim takes one job, which must be there.
func (w *world) claim(agent tenancy.Principal) jobs.Job {
	w.t.Helper()
	got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{})
	if err != nil {
		w.t.Fatalf("claim: %v", err)
	}
	if len(got.Jobs) != 1 {
		w.t.Fatalf("claim gave %d jobs (%s)", len(got.Jobs), got.Reason)
	}
	return got.Jobs[0]
}

// nothing asserts that a claim gives nothing, for that reason.
func (w *world) nothing(agent tenancy.Principal, reason string) {
	w.t.Helper()
	got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{})
	if err != nil || len(got.Jobs) != 0 || got.Reason != reason {
		w.t.Fatalf("claim = %d jobs, reason %q, %v; want none for %q", len(got.Jobs), got.Reason, err, reason)
	}
}

func ref(j jobs.Job) dispatch.Ref { return dispatch.Ref{Job: j.Key, Epoch: j.Epoch} }

// get reads a job again.
func (w *world) get(j jobs.Job) jobs.Job {
	w.t.Helper()
	now, err := w.jobs.Get(w.ctx, w.owner, j.Key)
	if err != nil {
		w.t.Fatalf("get %s: %v", j.Key, err)
	}
	return now
}

// want asserts a job's status.
func (w *world) want(j jobs.Job, status jobs.Status) jobs.Job {
	w.t.Helper()
	now := w.get(j)
	if now.Status != status {
		w.t.Fatalf("%s is %s; want %s", j.Key, now.Status, status)
	}
	return now
}

// expire moves a lease's end into the past.
func (w *world) expire(j jobs.Job) {
	w.t.Helper()
	dbfactory.Exec(w.t, w.db, `UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second' WHERE job_id = $1`, j.ID)
}

// consistent asserts P3: a lease exactly while assigned or running, a ready row
// exactly while ready, one open attempt for each lease; and that each change of a
// status has one event, a repo's slot a job that is ready or worked on, and a gate a
// parent that waits exactly while a child is open.
func (w *world) consistent() {
	w.t.Helper()
	wrong := dbfactory.Text(w.t, w.db, `SELECT concat_ws('; ',
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
		(SELECT count(*) || ' ready jobs with an open child behind a gate' FROM job j JOIN job_dependency g ON g.job_id = j.id AND g.type = 'gate'
			JOIN job c ON c.id = g.depends_on_id AND c.status NOT IN ('completed', 'failed', 'aborted', 'archived')
			WHERE j.status = 'ready' HAVING count(*) > 0),
		(SELECT count(*) || ' jobs that wait for children who have ended' FROM job j
			WHERE j.status = 'waiting' AND j.wait_reason = 'dependency' AND NOT EXISTS (SELECT FROM job_dependency x
				JOIN job c ON c.id = x.depends_on_id AND c.status <> 'completed' WHERE x.job_id = j.id
				AND (x.type = 'blocks' OR x.type = 'gate' AND c.status NOT IN ('failed', 'aborted', 'archived')))
			AND EXISTS (SELECT FROM job_dependency x WHERE x.job_id = j.id AND x.type = 'gate') HAVING count(*) > 0))`)
	if wrong != "" {
		w.t.Error(wrong)
	}
}
