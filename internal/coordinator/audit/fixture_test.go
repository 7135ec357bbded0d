package audit_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/transporttest"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/dispatch"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// testWorkspace is a workspace with jobs and agents.
type testWorkspace struct {
	t         *testing.T
	db        *db.DB
	workspace ids.ID
	slug      string
	owner     tenancy.Principal
	jobs      *jobs.Service
	dispatch  *dispatch.Service
	tokens    *tokens
	admin     *pgx.Conn // past everything that keeps rows right
}

// tokens issues tokens that only say who they are for.
type tokens struct {
	mu   sync.Mutex
	last tenancy.Principal
}

func (k *tokens) IssueAgentToken(p tenancy.Principal) (string, time.Time, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = p
	return p.Name, time.Now().Add(time.Hour), nil
}

func newTestWorkspace(t *testing.T) *testWorkspace {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	log := slog.New(slog.DiscardHandler)
	workspace := dbfactory.Workspace(t, d)
	wake := transporttest.Notifier(t, d)
	w := &testWorkspace{t: t, db: d, workspace: workspace, slug: "w-" + workspace.String(), tokens: &tokens{},
		owner: dbfactory.Person(workspace, tenancy.RoleOwner), jobs: jobs.NewService(d, wake, dbtest.Vault(d), nil), admin: dbtest.Owner(t, d)}
	w.dispatch = dispatch.New(d, w.jobs, wake, w.tokens, nil, nil, log)
	t.Cleanup(w.dispatch.Close)
	return w
}

func (w *testWorkspace) job(n jobs.New) jobs.Job {
	w.t.Helper()
	made, err := w.jobs.Create(w.t.Context(), w.owner, nil, n)
	if err != nil {
		w.t.Fatalf("create %s: %v", n.Title, err)
	}
	return made.Jobs[0]
}

func (w *testWorkspace) agent(name string) tenancy.Principal {
	w.t.Helper()
	_, err := w.dispatch.Register(w.t.Context(), dbfactory.Enrolment(w.workspace), fleet.Registration{Agent: name, BootID: "1",
		MaxConcurrentJobs: 100, Factory: fleet.FactoryInfo{Name: "of-" + name, OS: "linux", Seats: 100, Repos: []fleet.Repo{{Name: "atlas"}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.tokens.mu.Lock()
	defer w.tokens.mu.Unlock()
	return w.tokens.last
}

// claim takes one named job.
func (w *testWorkspace) claim(agent tenancy.Principal, j jobs.Job) lease.Ref {
	w.t.Helper()
	got, err := w.dispatch.Claim(w.t.Context(), agent, claim.Request{Job: j.Key})
	if err != nil || len(got.Jobs) != 1 {
		w.t.Fatalf("claim %s: %d jobs, %v", j.Key, len(got.Jobs), err)
	}
	return lease.Ref{Job: j.Key, Epoch: got.Jobs[0].Epoch}
}

func (w *testWorkspace) act(j jobs.Job, verb jobs.Trigger) {
	w.t.Helper()
	if _, err := w.dispatch.Act(w.t.Context(), w.owner, j.Key, actions.Action{Verb: verb, Reason: "because"}); err != nil {
		w.t.Fatalf("%s %s: %v", verb, j.Key, err)
	}
}

// damage changes rows past everything that keeps them right.
func (w *testWorkspace) damage(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.admin.Exec(w.t.Context(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

type check func(context.Context, *db.DB) (audit.Report, error)

// look runs a check that must be able to look at everything.
func (w *testWorkspace) look(what check) audit.Report {
	w.t.Helper()
	r, err := what(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// clean fails the test where a check finds anything.
func (w *testWorkspace) clean(what check) {
	w.t.Helper()
	if r := w.look(what); r.Found() != 0 || len(r.Findings) != 0 {
		w.t.Fatalf("%d findings; want none: %+v", r.Found(), r.Findings)
	}
}

// finds fails the test where a check does not find exactly this of a job.
func (w *testWorkspace) finds(what check, name string, j jobs.Job, detail string) {
	w.t.Helper()
	r := w.look(what)
	for _, f := range r.Findings {
		if f.Check == name && f.Job == j.Key && f.Workspace == w.slug && strings.Contains(f.Detail, detail) {
			return
		}
	}
	w.t.Errorf("%+v; want %s of %s: %s", r.Findings, name, j.Key, detail)
}
