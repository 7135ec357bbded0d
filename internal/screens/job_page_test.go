package screens

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
)

// visited is a transaction in which something happens elsewhere before its statement n;
// it counts all of them.
type visited struct {
	db.Tx
	n, at int
	what  func()
}

func (v *visited) come() {
	if v.n == v.at {
		v.what()
	}
	v.n++
}

func (v *visited) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	v.come()
	return v.Tx.Query(ctx, sql, args...)
}

func (v *visited) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	v.come()
	return v.Tx.QueryRow(ctx, sql, args...)
}

// visit lets something happen before statement at of each page that s reads from now
// on, and returns how many statements the last page took.
func visit(s *Service, at int, what func()) (taken func() int) {
	inner, last := s.snapshot, &visited{}
	s.snapshot = func(ctx context.Context, workspace ids.ID, fn func(db.Tx) error) error {
		return inner(ctx, workspace, func(tx db.Tx) error {
			last = &visited{Tx: tx, at: at, what: what}
			return fn(last)
		})
	}
	return func() int { return last.n }
}

func (h *held) service() *Service {
	h.t.Helper()
	s := New(h.db, eventlog.New(h.db, nil), &topics{}, nil)
	h.t.Cleanup(s.Close)
	return s
}

func (h *held) made(n jobs.New) jobs.Job {
	h.t.Helper()
	made, err := h.jobs.Create(h.t.Context(), h.who, nil, n)
	if err != nil {
		h.t.Fatal(err)
	}
	return made.Jobs[0]
}

// A change that is committed while the page of a job is read shows everywhere or
// nowhere: in the job, in the graph around it and in its history.
func TestThePageOfAJobIsOfOneMoment(t *testing.T) {
	h := newHeld(t)
	statements := 2
	for at := 0; at < statements; at++ {
		j := h.made(jobs.New{Spec: jobs.Spec{Title: "before"}})
		s := h.service()
		taken := visit(s, at, func() {
			title := "after"
			if _, err := h.jobs.Patch(t.Context(), h.who, j.Key, jobs.Patch{Version: j.Version, Spec: jobs.Spec{Title: title},
				Set: []string{"title"}}); err != nil {
				t.Error(err)
			}
		})
		page, err := s.JobPage(t.Context(), h.who, JobQuery{Job: j.Key, Events: 10, Log: &joblog.Filter{}})
		if err != nil {
			t.Fatal(err)
		}
		title, node, edited := page.Why.Job.Title, page.Graph.Nodes[0].Title, page.Events[0].Type == eventlog.JobEdited
		if node != title || edited != (title == "after") {
			t.Errorf("changed before statement %d: the job is %q, in the graph %q, edited in its history %v", at, title, node, edited)
		}
		statements = taken()
	}
	if statements < 8 {
		t.Errorf("the page took %d statements: it was not read through the visited transaction", statements)
	}
}

// What the form of a job shows is of one moment too.
func TestTheFormOfAJobIsOfOneMoment(t *testing.T) {
	h := newHeld(t)
	statements := 2
	for at := 0; at < statements; at++ {
		j := h.made(jobs.New{Spec: jobs.Spec{Title: "before", Phase: "M1"}})
		s := h.service()
		phase := fmt.Sprintf("M-%d", at)
		taken := visit(s, at, func() {
			if _, err := h.jobs.Patch(t.Context(), h.who, j.Key, jobs.Patch{Version: j.Version, Spec: jobs.Spec{Phase: phase},
				Set: []string{"phase"}}); err != nil {
				t.Error(err)
			}
		})
		around, err := s.FormPage(t.Context(), h.who, FormQuery{Job: j.Key, Seen: j.Version}, dependingOn(j.Key))
		depends := around.Start.Depends
		if err != nil || len(depends) != 1 {
			t.Fatal(depends, err)
		}
		offered := false
		for _, p := range around.Phases {
			offered = offered || p == phase
		}
		if offered != (depends[0].Phase == phase) {
			t.Errorf("changed before statement %d: the dependency has the phase %q, the menu offers %q", at, depends[0].Phase, around.Phases)
		}
		if told := len(around.Events) > 0 && around.Events[0].Type == eventlog.JobEdited; told != offered || offered != (around.Job.Phase == phase) {
			t.Errorf("changed before statement %d: the job has the phase %q, its edit is told %v", at, around.Job.Phase, told)
		}
		statements = taken()
	}
	if statements < 6 {
		t.Errorf("the form took %d statements: it was not read through the visited transaction", statements)
	}
}

// However many dependencies, attempts, events and lines a page shows, it takes the same
// statements.
func TestThePagesOfAJobTakeTheSameStatements(t *testing.T) {
	h := newHeld(t)
	s := h.service()
	taken := visit(s, -1, nil)
	count := func(dependencies, rows int) (page, form, edit int) {
		var keys []string
		for i := range dependencies {
			keys = append(keys, h.made(jobs.New{Spec: jobs.Spec{Title: fmt.Sprintf("dependency %d", i)}}).Key)
		}
		j := h.made(jobs.New{Spec: jobs.Spec{Title: "depends", DependsOn: keys}})
		h.exec(`INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, claimed_at, ended_at, outcome)
			SELECT $1, $2, n, 'claude-1', 'linux-2', now(), now(), 'failed' FROM generate_series(1, $3::int) n`, j.ID, rows)
		h.exec(`INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message, at)
			SELECT $1, $2, 1, 'claude-1', 'INFO', 'line', now() FROM generate_series(1, $3::int) n`, j.ID, rows)
		title := "depends"
		for i := range rows {
			title += "!"
			if _, err := h.jobs.Patch(t.Context(), h.who, j.Key, jobs.Patch{Version: j.Version + i, Spec: jobs.Spec{Title: title},
				Set: []string{"title"}}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.JobPage(t.Context(), h.who, JobQuery{Job: j.Key, Events: 50, Log: &joblog.Filter{}})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Graph.Nodes) != dependencies+1 || len(got.Attempts) != rows || len(got.Events) < rows || len(got.Log) != rows {
			t.Fatalf("%d jobs, %d attempts, %d events, %d lines", len(got.Graph.Nodes), len(got.Attempts), len(got.Events), len(got.Log))
		}
		page = taken()
		var counts []int
		for _, query := range []FormQuery{{}, {Job: j.Key, Seen: j.Version}} {
			shown, err := s.FormPage(t.Context(), h.who, query, dependingOn(keys...))
			depends := shown.Start.Depends
			if err != nil || len(depends) != dependencies || depends[0].Key != keys[0] {
				t.Fatal(depends, err)
			}
			counts = append(counts, taken())
		}
		return page, counts[0], counts[1]
	}
	page, form, edit := count(1, 1)
	manyPage, manyForm, manyEdit := count(20, 20)
	if page != manyPage || form != manyForm || edit != manyEdit {
		t.Errorf("the page takes %d statements and then %d, the form %d and then %d, that of an edit %d and then %d",
			page, manyPage, form, manyForm, edit, manyEdit)
	}
	t.Logf("the page takes %d statements, the form %d, that of an edit %d", page, form, edit)
}

// dependingOn returns the query of a new job that depends on these.
func dependingOn(keys ...string) func(FormPage) StartQuery {
	return func(FormPage) StartQuery { return StartQuery{DependsOn: keys} }
}
