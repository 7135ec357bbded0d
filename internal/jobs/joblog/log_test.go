package joblog_test

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// log writes n lines of a level for an attempt on a job; they are numbered.
func (b *fixture) log(j jobs.Job, epoch int, level joblog.Level, n int) {
	b.T.Helper()
	dbfactory.Exec(b.T, b.DB, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
		SELECT $1, $2, $3, 'claude-1', $4, $4 || ' ' || n FROM generate_series(1, $5::int) n`,
		b.Who.Workspace, j.ID, epoch, string(level), n)
}

func messages(list []joblog.Line) []string {
	var all []string
	for _, l := range list {
		all = append(all, l.Message)
	}
	return all
}

func TestALogIsReadPageByPageFromItsEnd(t *testing.T) {
	b := setup(t)
	made := b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}}, jobs.New{Spec: jobs.Spec{Title: "b"}})
	b.log(made[0], 1, joblog.Info, 7)
	b.log(made[1], 1, joblog.Info, 3)
	var all []string
	cursor := ""
	for pages := 1; ; pages++ {
		list, next, err := b.Logs(t.Context(), b.Who, "FB-1", joblog.Filter{Limit: 3, Cursor: cursor})
		if err != nil || len(list) > 3 {
			t.Fatalf("%d lines, %v", len(list), err)
		}
		all = append(all, messages(list)...)
		if cursor = next; next == "" {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if want := []string{"INFO 7", "INFO 6", "INFO 5", "INFO 4", "INFO 3", "INFO 2", "INFO 1"}; !slices.Equal(all, want) {
		t.Errorf("read %q", all)
	}
}

func TestALogIsNarrowedByLevelAndAttempt(t *testing.T) {
	b := setup(t)
	j := b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}})[0]
	for epoch := range 2 {
		for _, level := range joblog.Levels {
			b.log(j, epoch+1, level, 1)
		}
	}
	for name, c := range map[string]struct {
		filter joblog.Filter
		want   []string
	}{
		"this level and graver ones": {joblog.Filter{Level: joblog.Error, Epoch: 1}, []string{"CRITICAL 1", "ERROR 1"}},
		"every level":                {joblog.Filter{Level: joblog.Debug, Epoch: 2}, []string{"CRITICAL 1", "ERROR 1", "WARNING 1", "INFO 1", "DEBUG 1"}},
		"both attempts":              {joblog.Filter{Level: joblog.Critical}, []string{"CRITICAL 1", "CRITICAL 1"}},
		"an attempt that was not":    {joblog.Filter{Epoch: 3}, nil},
	} {
		list, _, err := b.Logs(t.Context(), b.Who, j.Key, c.filter)
		if err != nil || !slices.Equal(messages(list), c.want) {
			t.Errorf("%s: %q, %v", name, messages(list), err)
		}
		slices.Reverse(c.want)
		list, err = b.LogsAfter(t.Context(), b.Who, j.ID, 0, c.filter)
		if err != nil || !slices.Equal(messages(list), c.want) {
			t.Errorf("%s, from the beginning: %q, %v", name, messages(list), err)
		}
	}
}

func TestReadingOnFromALineGivesTheRest(t *testing.T) {
	b := setup(t)
	j := b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}})[0]
	b.log(j, 1, joblog.Info, 5)
	first, err := b.LogsAfter(t.Context(), b.Who, j.ID, 0, joblog.Filter{Limit: 2})
	if err != nil || len(first) != 2 {
		t.Fatalf("%d lines, %v", len(first), err)
	}
	rest, err := b.LogsAfter(t.Context(), b.Who, j.ID, first[1].ID, joblog.Filter{})
	if err != nil || !slices.Equal(messages(rest), []string{"INFO 3", "INFO 4", "INFO 5"}) {
		t.Errorf("the rest is %q, %v", messages(rest), err)
	}
}

func TestRefusedLogs(t *testing.T) {
	b := setup(t)
	b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}})
	for _, f := range []joblog.Filter{{Limit: 201}, {Limit: -1}, {Level: "LOUD"}, {Cursor: "x"}, {Cursor: "-1"}, {Cursor: "0"},
		{Cursor: "99999999999999999999"}} {
		if _, _, err := b.Logs(t.Context(), b.Who, "FB-1", f); !fault.Is(err, fault.Validation) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, job := range []string{"FB-9", ids.New().String()} {
		if _, _, err := b.Logs(t.Context(), b.Who, job, joblog.Filter{}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v; want not found", job, err)
		}
	}
}

func TestALogIsNotSeenFromAnotherWorkspace(t *testing.T) {
	b := setup(t)
	j := b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}})[0]
	b.log(j, 1, joblog.Info, 1)
	stranger := dbfactory.Person(dbfactory.Workspace(t, b.DB), tenancy.RoleOwner)
	if _, _, err := b.Logs(t.Context(), stranger, j.ID.String(), joblog.Filter{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a stranger reads it: %v", err)
	}
	if list, err := b.LogsAfter(t.Context(), stranger, j.ID, 0, joblog.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("a stranger follows it: %q, %v", messages(list), err)
	}
}

// Old lines go, 10,000 in each call over all workspaces; younger ones stay.
func TestOldLinesAreDeletedABoundedNumberAtOnce(t *testing.T) {
	b := setup(t)
	j := b.NewJobs(jobs.New{Spec: jobs.Spec{Title: "a"}})[0]
	b.log(j, 1, joblog.Info, 9_000)
	other := &fixture{Workspace: b.Beside(), Service: b.Service}
	other.log(other.NewJobs(jobs.New{Spec: jobs.Spec{Title: "b"}})[0], 1, joblog.Info, 2_000)
	dbfactory.Exec(t, b.DB, `UPDATE job_log SET received_at = clock_timestamp() - interval '30 days 1 minute'`)
	b.log(j, 1, joblog.Info, 5)
	dbfactory.Exec(t, b.DB, `UPDATE job_log SET received_at = clock_timestamp() - interval '29 days 23 hours'
		WHERE received_at > clock_timestamp() - interval '1 hour'`)
	for _, want := range []int{10_000, 1_000, 0} {
		if n, err := b.ExpireLogs(t.Context()); n != want || err != nil {
			t.Fatalf("deleted %d, %v; want %d", n, err, want)
		}
	}
	if n := dbfactory.Int(t, b.DB, `SELECT count(*) FROM job_log`); n != 5 {
		t.Errorf("%d lines are left; want the 5 young ones", n)
	}
}
