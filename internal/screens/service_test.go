package screens_test

import (
	"fmt"
	"log/slog"
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
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

type testWorkspace struct {
	t        *testing.T
	db       *db.DB
	who      tenancy.Principal
	jobs     *jobs.Service
	fleet    *fleet.Service
	dispatch *dispatch.Service
	*screens.Service
	last tenancy.Principal
}

func (w *testWorkspace) IssueAgentToken(p tenancy.Principal) (string, time.Time, error) {
	w.last = p
	return "token", time.Now().Add(time.Hour), nil
}

func setup(t *testing.T) *testWorkspace {
	t.Helper()
	t.Parallel()
	d := dbtest.New(t)
	quiet := slog.New(slog.DiscardHandler)
	n := transporttest.Notifier(t, d)
	w := &testWorkspace{t: t, db: d, who: dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner)}
	w.jobs, w.fleet = jobs.NewService(d, n, dbtest.Vault(d), nil), fleet.NewService(d, n)
	w.dispatch = dispatch.New(d, w.jobs, n, w, nil, nil, quiet)
	w.Service = screens.New(d, eventlog.New(d, nil), n, quiet)
	t.Cleanup(func() { w.Close(); w.dispatch.Close() })
	return w
}

func (w *testWorkspace) job(n jobs.New) jobs.Job {
	w.t.Helper()
	made, err := w.jobs.Create(w.t.Context(), w.who, nil, n)
	if err != nil {
		w.t.Fatal(err)
	}
	return made.Jobs[0]
}

func (w *testWorkspace) agent() tenancy.Principal {
	w.t.Helper()
	_, err := w.dispatch.Register(w.t.Context(), dbfactory.Enrolment(w.who.Workspace), fleet.Registration{Agent: "claude-1", BootID: "b",
		MaxConcurrentJobs: 10, Factory: fleet.FactoryInfo{Name: "linux-2", OS: "linux", Seats: 10}})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.last
}

func (w *testWorkspace) board(f screens.Filter) screens.Board {
	w.t.Helper()
	b, err := w.Board(w.t.Context(), w.who, f)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func column(b screens.Board, name screens.Column) screens.ColumnPage {
	for _, c := range b.Columns {
		if c.Column == name {
			return c
		}
	}
	return screens.ColumnPage{}
}

func keys(p screens.ColumnPage) string {
	text := ""
	for _, c := range p.Cards {
		text += c.Job.Key + " "
	}
	return text
}

func TestTheBoardShowsJobsInTheirColumns(t *testing.T) {
	w := setup(t)
	agent := w.agent()
	low, high := 3, 8
	w.job(jobs.New{Spec: jobs.Spec{Title: "low", Phase: "M1"}, Priority: &low})
	w.job(jobs.New{Spec: jobs.Spec{Title: "high", Phase: "M2"}, Priority: &high})
	w.job(jobs.New{Spec: jobs.Spec{Title: "waits", DependsOn: []string{"FB-1"}}})
	w.job(jobs.New{Spec: jobs.Spec{Title: "stuck", Capabilities: []string{"engine:codex"}}})
	if _, err := w.dispatch.Claim(t.Context(), agent, claim.Request{}); err != nil {
		t.Fatal(err)
	}
	b := w.board(screens.Filter{})
	for name, want := range map[screens.Column]string{screens.Running: "FB-2 ", screens.Ready: "FB-4 FB-1 ", screens.Waiting: "FB-3 ", screens.Done: ""} {
		if got := keys(column(b, name)); got != want {
			t.Errorf("%s shows %q; want %q", name, got, want)
		}
	}
	if b.Total != 4 || b.Unroutable.Count != 1 || b.Unroutable.First[0].Job.Key != "FB-4" || len(b.Phases) != 2 || len(b.Fleet.Factories) != 1 {
		t.Errorf("total %d, unroutable %d, phases %v", b.Total, b.Unroutable.Count, b.Phases)
	}
	if waits := column(b, screens.Waiting).Cards[0].Why; waits.Code != screens.CodeDependency || waits.Keys[0] != "FB-1" {
		t.Errorf("FB-3 says %+v", waits)
	}
	seven := 7
	for name, c := range map[string]struct {
		filter screens.Filter
		want   int
	}{
		"phase":      {screens.Filter{Phases: []string{"M1"}}, 1},
		"priority":   {screens.Filter{PriorityGTE: &seven}, 1},
		"search":     {screens.Filter{Query: "stu"}, 1},
		"product":    {screens.Filter{Products: []string{"default"}}, 4},
		"nowhere":    {screens.Filter{Products: []string{"other"}}, 0},
		"factory":    {screens.Filter{Factories: []string{"linux-2"}}, 1},
		"unroutable": {screens.Filter{Unroutable: true}, 1},
	} {
		b := w.board(c.filter)
		shown := 0
		for _, col := range b.Columns {
			shown += len(col.Cards)
		}
		if b.Total != c.want || shown != c.want {
			t.Errorf("%s: counts %d, shows %d; want %d", name, b.Total, shown, c.want)
		}
	}
}

func TestColumnsArePagedWithoutLossOrRepetition(t *testing.T) {
	w := setup(t)
	list := make([]jobs.New, 120)
	for i := range list {
		p := i % 3
		list[i] = jobs.New{Spec: jobs.Spec{Title: fmt.Sprint(i)}, Priority: &p}
	}
	if _, err := w.jobs.Create(t.Context(), w.who, nil, list...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	page := column(w.board(screens.Filter{}), screens.Ready)
	if page.Count != 120 || page.Capped {
		t.Errorf("counts %d", page.Count)
	}
	last := 10
	for pages := 1; ; pages++ {
		for _, c := range page.Cards {
			if seen[c.Job.Key] || c.Job.Priority > last {
				t.Errorf("%s (priority %d) comes twice or too late", c.Job.Key, c.Job.Priority)
			}
			seen[c.Job.Key], last = true, c.Job.Priority
		}
		if page.Next == "" {
			if pages != 3 {
				t.Errorf("%d pages; want 3", pages)
			}
			break
		}
		var err error
		if page, err = w.ColumnPage(t.Context(), w.who, screens.Filter{}, screens.Ready, page.Next); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 120 {
		t.Errorf("%d jobs on all pages; want 120", len(seen))
	}
}

// next waits for an update that the test is about. A transaction that still runs
// anywhere on the server, say of a test that fills tables, keeps back what came after it.
func next(t *testing.T, updates <-chan *screens.Update, about func(*screens.Update) bool) *screens.Update {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				t.Fatal("the updates ended")
			}
			if about(u) {
				return u
			}
		case <-deadline.C:
			t.Fatal("no update came")
		}
	}
}

func TestWatchTellsOfEveryChangeAfterThePage(t *testing.T) {
	w := setup(t)
	agent := w.agent()
	b := w.board(screens.Filter{})
	// Between the page and the stream: the catch-up has it.
	made := w.job(jobs.New{Spec: jobs.Spec{Title: "new"}})
	updates, err := w.Watch(t.Context(), w.who, b.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	has := func(status jobs.Status) func(*screens.Update) bool {
		return func(u *screens.Update) bool {
			return len(u.Cards) > 0 && u.Cards[0].Job.Key == made.Key && u.Cards[0].Job.Status == status
		}
	}
	next(t, updates, has(jobs.Ready))
	if _, err := w.dispatch.Claim(t.Context(), agent, claim.Request{}); err != nil {
		t.Fatal(err)
	}
	u := next(t, updates, has(jobs.Assigned))
	if len(u.Touched) == 0 {
		t.Error("no column was touched by the claim")
	}
	ref := lease.Ref{Job: made.Key, Epoch: 1}
	if _, err := w.dispatch.Complete(t.Context(), agent, ref, report.Completion{}); err != nil {
		t.Fatal(err)
	}
	u = next(t, updates, has(jobs.Completed))
	// Whoever comes back with that cursor has missed only what follows.
	if _, err := w.dispatch.Act(t.Context(), w.who, made.Key, actions.Action{Verb: jobs.ByArchive}); err != nil {
		t.Fatal(err)
	}
	again, err := w.Watch(t.Context(), w.who, u.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	next(t, again, func(u *screens.Update) bool { return len(u.Gone) == 1 && u.Gone[0] == made.ID })
}

// A card that waits for another job says so anew when that one has ended.
func TestWatchTellsThoseThatWaitForTheJob(t *testing.T) {
	w := setup(t)
	first := w.job(jobs.New{Spec: jobs.Spec{Title: "first"}})
	w.job(jobs.New{Spec: jobs.Spec{Title: "second", DependsOn: []string{first.Key}}})
	updates, err := w.Watch(t.Context(), w.who, w.board(screens.Filter{}).Cursor)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.dispatch.Act(t.Context(), w.who, first.Key, actions.Action{Verb: jobs.ByCancel}); err != nil {
		t.Fatal(err)
	}
	next(t, updates, func(u *screens.Update) bool {
		for _, c := range u.Cards {
			if c.Job.Key == "FB-2" && c.Why.Code == screens.CodeDependencyFailed && c.Why.Ended[0].Key == first.Key {
				return true
			}
		}
		return false
	})
}
