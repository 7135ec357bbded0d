package dispatch_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func line(level joblog.Level, message string) joblog.Line {
	return joblog.Line{Level: level, Message: message}
}

// write adds lines to the log of a job, which must be possible.
func (w *testWorkspace) write(agent tenancy.Principal, j jobs.Job, lines ...joblog.Line) lease.Status {
	w.T.Helper()
	standing, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(j), lines)
	if err != nil {
		w.T.Fatalf("write logs: %v", err)
	}
	return standing
}

// written returns the messages of a job's log, oldest first.
func (w *testWorkspace) written(j jobs.Job) []string {
	w.T.Helper()
	list, err := joblog.NewService(w.DB).LogsAfter(w.Ctx, w.Owner, j.ID, 0, joblog.Filter{Limit: 200})
	if err != nil {
		w.T.Fatal(err)
	}
	var messages []string
	for _, l := range list {
		messages = append(messages, l.Message)
	}
	return messages
}

func TestAnAgentWritesDownWhatItDoes(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	written, stop := w.Dispatch.WatchLogs(w.Workspace, held.ID)
	defer stop()
	at := time.Date(2020, 2, 29, 23, 59, 59, 123456000, time.FixedZone("", 3600))
	standing := w.write(agent, held,
		joblog.Line{Level: joblog.Warning, Event: "test.slow", Message: "a\nb\x1b[31m \u202e", Details: []byte(`{"seconds": 2.5}`), At: &at},
		line(joblog.Debug, ""))
	if standing.Job != held.Key || standing.Epoch != 1 || standing.Directive != lease.Continue || standing.ExpiresAt == nil {
		t.Errorf("standing %+v", standing)
	}
	select {
	case <-written:
	case <-time.After(time.Minute):
		t.Fatal("nobody was told")
	}
	list, next, err := joblog.NewService(w.DB).Logs(w.Ctx, w.Owner, held.Key, joblog.Filter{})
	if err != nil || next != "" || len(list) != 2 {
		t.Fatalf("%d lines, next %q, %v", len(list), next, err)
	}
	last, first := list[0], list[1]
	if last.ID <= first.ID || first.ReceivedAt.IsZero() || last.ReceivedAt.IsZero() {
		t.Errorf("lines %d and %d, received at %v and %v", first.ID, last.ID, first.ReceivedAt, last.ReceivedAt)
	}
	want := []joblog.Line{
		{ID: last.ID, Epoch: 1, Agent: "claude-1", Level: joblog.Debug, Details: []byte("{}"), ReceivedAt: last.ReceivedAt},
		{ID: first.ID, Epoch: 1, Agent: "claude-1", Level: joblog.Warning, Event: "test.slow", Message: "a\nb\x1b[31m \u202e",
			Details: []byte(`{"seconds": 2.5}`), At: &at, ReceivedAt: first.ReceivedAt},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// No event: the log of what changed is another one.
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM event WHERE type NOT IN ('job.created', 'job.claimed', 'agent.registered')`); n != 0 {
		t.Errorf("%d events of writing", n)
	}
}

func TestAThousandLinesAtOnceKeepTheirOrder(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	var lines []joblog.Line
	for i := range 1000 {
		lines = append(lines, line(joblog.Info, fmt.Sprintf("line %d", i)))
	}
	w.write(agent, held, lines...)
	if got := w.written(held); len(got) != 200 || got[0] != "line 0" || got[199] != "line 199" {
		t.Errorf("%d lines from %q", len(got), got[0])
	}
	if _, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), append(lines, line(joblog.Info, "one more"))); !fault.Is(err, fault.Validation) {
		t.Errorf("1,001 lines: %v; want a refusal", err)
	}
}

// Writing is a sign of life, as every call of an agent is.
func TestWritingIsASignOfLife(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '1 minute'`)
	w.write(agent, held, line(joblog.Info, "still here"))
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM agent WHERE last_heartbeat_at > clock_timestamp() - interval '30 seconds'`); n != 1 {
		t.Error("the agent counts as silent")
	}
	w.Agent("claude-1", func(r *fleet.Registration) { r.BootID = "boot-2" })
	if _, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), []joblog.Line{line(joblog.Info, "x")}); !fault.Is(err, fault.Superseded) {
		t.Errorf("the boot before: %v; want superseded", err)
	}
}

// P1: a line of an ended lease is refused, and none of its batch is kept.
func TestNoLineIsWrittenUnderAnEndedLease(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(w *testWorkspace, agent tenancy.Principal, j jobs.Job)
		want fault.Code
	}{
		"expired": {func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) { w.Expire(j) }, fault.LeaseExpired},
		"given back": {func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) {
			if _, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{}); err != nil {
				w.T.Fatal(err)
			}
		}, fault.AlreadyEnded},
		"given to somebody else": {func(w *testWorkspace, _ tenancy.Principal, j jobs.Job) {
			w.Act(j, jobs.ByRelease)
			w.Claim(w.Agent("claude-2"))
		}, fault.StaleEpoch},
		"cancelled": {func(w *testWorkspace, agent tenancy.Principal, j jobs.Job) {
			if _, err := w.Dispatch.Act(w.Ctx, w.Owner, j.Key, actions.Action{Verb: jobs.ByCancel}); err != nil {
				w.T.Fatal(err)
			}
			if _, err := w.Dispatch.Release(w.Ctx, agent, ref(j), report.Release{}); err != nil {
				w.T.Fatal(err)
			}
		}, fault.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTestWorkspace(t)
			agent := w.Agent("claude-1")
			w.Job("one")
			held := w.Claim(agent)
			w.write(agent, held, line(joblog.Info, "in time"))
			c.end(w, agent, held)
			if _, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), []joblog.Line{line(joblog.Info, "late")}); !fault.Is(err, c.want) {
				t.Errorf("%v; want %s", err, c.want)
			}
			if got := w.written(held); got[0] != "in time" || slices.Contains(got, "late") {
				t.Errorf("the log holds %q", got)
			}
		})
	}
	t.Run("of another agent", func(t *testing.T) {
		w := newTestWorkspace(t)
		w.Job("one")
		held := w.Claim(w.Agent("claude-1"))
		if _, err := w.Dispatch.WriteLogs(w.Ctx, w.Agent("claude-2"), ref(held), []joblog.Line{line(joblog.Info, "mine")}); !fault.Is(err, fault.StaleEpoch) {
			t.Errorf("%v; want stale_epoch", err)
		}
	})
	t.Run("of a person", func(t *testing.T) {
		w := newTestWorkspace(t)
		w.Job("one")
		held := w.Claim(w.Agent("claude-1"))
		if _, err := w.Dispatch.WriteLogs(w.Ctx, w.Owner, ref(held), []joblog.Line{line(joblog.Info, "mine")}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%v; want forbidden", err)
		}
	})
}

// While lines are being written the lease cannot end; what ends it waits for
// their commit.
func TestALeaseDoesNotEndBetweenItsCheckAndItsLines(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	commit, done := w.slowWrite(held, "slow")
	ended := make(chan error, 1)
	go func() {
		_, err := w.Dispatch.Release(w.Ctx, agent, ref(held), report.Release{})
		ended <- err
	}()
	w.Blocked(1)
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_lease`); n != 1 {
		t.Error("the lease ended while its lines were being written")
	}
	commit()
	if err := errors.Join(<-done, <-ended); err != nil {
		t.Fatal(err)
	}
	w.Want(held, jobs.Ready)
}

// A reader that goes on from the last line it saw skips nothing, though an
// earlier request of the agent is committed after a later one began.
func TestReadersOfALogSkipNothing(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	commit, done := w.slowWrite(held, "first")
	second := make(chan error, 1)
	go func() {
		_, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), []joblog.Line{line(joblog.Info, "second")})
		second <- err
	}()
	w.Blocked(1)
	if got := w.written(held); len(got) != 0 {
		t.Fatalf("a reader sees %q before what has the lower id; it would go on after it", got)
	}
	commit()
	if err := errors.Join(<-done, <-second); err != nil {
		t.Fatal(err)
	}
	if got := w.written(held); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("the log holds %q", got)
	}
}

// slowWrite begins what WriteLogs does and leaves it open until commit.
func (w *testWorkspace) slowWrite(j jobs.Job, message string) (commit func(), done <-chan error) {
	w.T.Helper()
	opened, held, end := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		end <- w.DB.In(w.Ctx, db.Workspace(w.Workspace), func(tx db.Tx) error {
			defer func() { <-held }()
			defer close(opened)
			q := dbsqlc.New()
			if _, err := q.LogLease(w.Ctx, tx, dbsqlc.LogLeaseParams{WorkspaceID: w.Workspace, JobID: j.ID, Epoch: j.Epoch, AgentID: j.Lease.AgentID}); err != nil {
				return err
			}
			return q.LogAppend(w.Ctx, tx, dbsqlc.LogAppendParams{WorkspaceID: w.Workspace, JobID: j.ID, Epoch: j.Epoch, Agent: j.Lease.Agent,
				Levels: []string{"INFO"}, Events: []string{""}, Messages: []string{message}, Details: []string{"{}"}, Ats: []string{""}})
		})
	}()
	<-opened
	commit = sync.OnceFunc(func() { close(held) })
	w.T.Cleanup(commit)
	return commit, end
}

func TestLinesThatCannotBeKept(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	far := time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	for field, bad := range map[string]joblog.Line{
		"message":   line(joblog.Info, "a\x00b"),
		"message ":  line(joblog.Info, "a\xffb"),
		"message  ": line(joblog.Info, strings.Repeat("é", 10_001)),
		"event":     {Level: joblog.Info, Event: strings.Repeat("x", 65)},
		"level":     {Level: "LOUD"},
		"at":        {Level: joblog.Info, At: &far},
		"details":   {Level: joblog.Info, Details: []byte(`[1]`)},
		"details ":  {Level: joblog.Info, Details: []byte(`{"a": "\u0000"}`)},
		"details  ": {Level: joblog.Info, Details: []byte(`{"a": "` + strings.Repeat("x", 17<<10) + `"}`)},
	} {
		_, err := w.Dispatch.WriteLogs(w.Ctx, agent, ref(held), []joblog.Line{line(joblog.Info, "good"), bad})
		var refusal *fault.Error
		if !errors.As(err, &refusal) || refusal.Code != fault.Validation || refusal.Fields["lines[1]."+strings.TrimSpace(field)] == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	w.write(agent, held, joblog.Line{Level: joblog.Critical, Message: strings.Repeat("é", 10_000), Details: []byte(`{"path": "C:\\u0000"}`)})
	if got := w.written(held); len(got) != 1 {
		t.Errorf("%d lines; want the one good batch", len(got))
	}
}
