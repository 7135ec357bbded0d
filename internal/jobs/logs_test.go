package jobs_test

import (
	"slices"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// log writes n lines of a level for an attempt on a job; they are numbered.
func (b *bundle) log(j jobs.Job, epoch int, level jobs.LogLevel, n int) {
	b.t.Helper()
	dbfactory.Exec(b.t, b.db, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
		SELECT $1, $2, $3, 'claude-1', $4, $4 || ' ' || n FROM generate_series(1, $5::int) n`,
		b.who.Workspace, j.ID, epoch, string(level), n)
}

func messages(list []jobs.LogLine) []string {
	var all []string
	for _, l := range list {
		all = append(all, l.Message)
	}
	return all
}

func TestALogIsReadPageByPageFromItsEnd(t *testing.T) {
	b := setup(t)
	made := b.create(jobs.New{Title: "a"}, jobs.New{Title: "b"})
	b.log(made[0], 1, jobs.Info, 7)
	b.log(made[1], 1, jobs.Info, 3)
	var all []string
	cursor := ""
	for pages := 1; ; pages++ {
		list, next, err := b.Logs(t.Context(), b.who, "FB-1", jobs.LogFilter{Limit: 3, Cursor: cursor})
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
	j := b.create(jobs.New{Title: "a"})[0]
	for epoch := range 2 {
		for _, level := range jobs.LogLevels {
			b.log(j, epoch+1, level, 1)
		}
	}
	for name, c := range map[string]struct {
		filter jobs.LogFilter
		want   []string
	}{
		"this level and graver ones": {jobs.LogFilter{Level: jobs.Error, Epoch: 1}, []string{"CRITICAL 1", "ERROR 1"}},
		"every level":                {jobs.LogFilter{Level: jobs.Debug, Epoch: 2}, []string{"CRITICAL 1", "ERROR 1", "WARNING 1", "INFO 1", "DEBUG 1"}},
		"both attempts":              {jobs.LogFilter{Level: jobs.Critical}, []string{"CRITICAL 1", "CRITICAL 1"}},
		"an attempt that was not":    {jobs.LogFilter{Epoch: 3}, nil},
	} {
		list, _, err := b.Logs(t.Context(), b.who, j.Key, c.filter)
		if err != nil || !slices.Equal(messages(list), c.want) {
			t.Errorf("%s: %q, %v", name, messages(list), err)
		}
		slices.Reverse(c.want)
		list, err = b.LogsAfter(t.Context(), b.who, j.ID, 0, c.filter)
		if err != nil || !slices.Equal(messages(list), c.want) {
			t.Errorf("%s, from the beginning: %q, %v", name, messages(list), err)
		}
	}
}

func TestReadingOnFromALineGivesTheRest(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Title: "a"})[0]
	b.log(j, 1, jobs.Info, 5)
	first, err := b.LogsAfter(t.Context(), b.who, j.ID, 0, jobs.LogFilter{Limit: 2})
	if err != nil || len(first) != 2 {
		t.Fatalf("%d lines, %v", len(first), err)
	}
	rest, err := b.LogsAfter(t.Context(), b.who, j.ID, first[1].ID, jobs.LogFilter{})
	if err != nil || !slices.Equal(messages(rest), []string{"INFO 3", "INFO 4", "INFO 5"}) {
		t.Errorf("the rest is %q, %v", messages(rest), err)
	}
}

func TestRefusedLogs(t *testing.T) {
	b := setup(t)
	b.create(jobs.New{Title: "a"})
	for _, f := range []jobs.LogFilter{{Limit: 201}, {Limit: -1}, {Level: "LOUD"}, {Cursor: "x"}, {Cursor: "-1"}, {Cursor: "0"},
		{Cursor: "99999999999999999999"}} {
		if _, _, err := b.Logs(t.Context(), b.who, "FB-1", f); !fault.Is(err, fault.Validation) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, job := range []string{"FB-9", ids.New().String()} {
		if _, _, err := b.Logs(t.Context(), b.who, job, jobs.LogFilter{}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v; want not found", job, err)
		}
	}
}

func TestALogIsNotSeenFromAnotherWorkspace(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Title: "a"})[0]
	b.log(j, 1, jobs.Info, 1)
	stranger := dbfactory.Person(dbfactory.Workspace(t, b.db), tenancy.RoleOwner)
	if _, _, err := b.Logs(t.Context(), stranger, j.ID.String(), jobs.LogFilter{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a stranger reads it: %v", err)
	}
	if list, err := b.LogsAfter(t.Context(), stranger, j.ID, 0, jobs.LogFilter{}); err != nil || len(list) != 0 {
		t.Errorf("a stranger follows it: %q, %v", messages(list), err)
	}
	if _, _, _, err := b.AttemptPage(t.Context(), stranger, j.ID.String(), 0, 10); !fault.Is(err, fault.NotFound) {
		t.Errorf("a stranger reads the attempts: %v", err)
	}
}

// Old lines go, 10,000 in each call over all workspaces; younger ones stay.
func TestOldLinesAreDeletedABoundedNumberAtOnce(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Title: "a"})[0]
	b.log(j, 1, jobs.Info, 9_000)
	other := &bundle{t: t, db: b.db, who: dbfactory.Person(dbfactory.Workspace(t, b.db), tenancy.RoleMember), wakes: b.wakes, Service: b.Service}
	other.log(other.create(jobs.New{Title: "b"})[0], 1, jobs.Info, 2_000)
	dbfactory.Exec(t, b.db, `UPDATE job_log SET received_at = clock_timestamp() - interval '30 days 1 minute'`)
	b.log(j, 1, jobs.Info, 5)
	dbfactory.Exec(t, b.db, `UPDATE job_log SET received_at = clock_timestamp() - interval '29 days 23 hours'
		WHERE received_at > clock_timestamp() - interval '1 hour'`)
	for _, want := range []int{10_000, 1_000, 0} {
		if n, err := b.ExpireLogs(t.Context()); n != want || err != nil {
			t.Fatalf("deleted %d, %v; want %d", n, err, want)
		}
	}
	if n := dbfactory.Int(t, b.db, `SELECT count(*) FROM job_log`); n != 5 {
		t.Errorf("%d lines are left; want the 5 young ones", n)
	}
}

func TestAttemptsArePagedWithAllThatIsKept(t *testing.T) {
	b := setup(t)
	j := b.create(jobs.New{Title: "a"})[0]
	dbfactory.Exec(t, b.db, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, ended_at, outcome, error, error_kind)
		SELECT $1, $2, n, 'claude-' || n, 'mac-1', now(), 'failed', 'it broke', 'TestFailure' FROM generate_series(1, 5) n`, b.who.Workspace, j.ID)
	dbfactory.Exec(t, b.db, `INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, epoch, payload)
		VALUES ($1, 'job.attempt_failed', $2, 'claude-4', 'agent', 4, '{"stack": "at main.go:7"}')`, b.who.Workspace, j.ID)
	b.log(j, 4, jobs.Info, 3)
	b.log(j, 5, jobs.Info, 1001)
	job, list, more, err := b.AttemptPage(t.Context(), b.who, "FB-1", 0, 3)
	if err != nil || job.ID != j.ID || !more || len(list) != 3 {
		t.Fatalf("%d attempts on %s, more %v, %v", len(list), job.Key, more, err)
	}
	if list[0].Epoch != 5 || list[0].Lines != 1000 || !list[0].Capped || list[0].Stack != "" {
		t.Errorf("the newest is %+v", list[0])
	}
	if list[1].Agent != "claude-4" || list[1].Lines != 3 || list[1].Capped || list[1].Stack != "at main.go:7" || list[1].Error != "it broke" {
		t.Errorf("the one before is %+v", list[1])
	}
	_, list, more, err = b.AttemptPage(t.Context(), b.who, "FB-1", list[2].Epoch, 3)
	if err != nil || more || len(list) != 2 || list[1].Epoch != 1 {
		t.Errorf("the older ones: %d, more %v, %v", len(list), more, err)
	}
}
