package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// full returns a batch of lines that takes about n bytes.
func full(n int) []joblog.Line {
	one := line(joblog.Info, strings.Repeat("x", 9000))
	return slices.Repeat([]joblog.Line{one}, n/int(one.Size()))
}

func (w *testWorkspace) leftOut(agent tenancy.Principal, j jobs.Job, lines []joblog.Line) int {
	w.T.Helper()
	total := 0
	for batch := range slices.Chunk(lines, 400) {
		total += w.write(agent, j, batch...).LinesLeftOut
	}
	return total
}

// An agent that writes without end fills only so much; one line says what was left out.
func TestAFloodOfLinesIsCut(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	stored := func() int {
		return dbfactory.Int(t, w.DB, `SELECT sum($1 + length(event) + length(message) + length(details::text))::bigint FROM job_log
			WHERE event <> $2`, joblog.LineSize, joblog.LinesLeftOut)
	}
	w.inOneMinute()
	lines := full(12 << 20)
	left := w.leftOut(agent, held, lines)
	if n := stored(); n > joblog.MaxMinute || n < joblog.MaxMinute-20_000 {
		t.Errorf("%d bytes are stored; the limit is %d", n, joblog.MaxMinute)
	}
	if want := len(lines) - joblog.MaxMinute/int(lines[0].Size()); left != want {
		t.Errorf("%d lines of %d were left out; want %d", left, len(lines), want)
	}
	if got, want := w.last(held), fmt.Sprintf("%d lines left out: a job's log keeps 8 MB a minute.", left); got != want {
		t.Errorf("the last line is %q; want %q", got, want)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_log WHERE event = $1`, joblog.LinesLeftOut); n != 1 {
		t.Errorf("%d lines say so", n)
	}

	// The next minute has space again, and what is left out later gets its own line.
	dbfactory.Exec(t, w.DB, `UPDATE job_log_use SET minute = minute - interval '1 minute'`)
	if n := w.leftOut(agent, held, []joblog.Line{line(joblog.Info, "on it goes")}); n != 0 || w.last(held) != "on it goes" {
		t.Errorf("%d lines left out; the last is %q", n, w.last(held))
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_log_use SET attempt_bytes = $1, minute_bytes = 0`, joblog.MaxAttempt-200)
	if n := w.leftOut(agent, held, []joblog.Line{line(joblog.Info, "fits"), line(joblog.Info, "does not fit"), line(joblog.Info, "nor this")}); n != 2 {
		t.Errorf("%d lines left out of the attempt; want 2", n)
	}
	if got := w.last(held); got != "2 lines left out: a job's log keeps 64 MB an attempt." {
		t.Errorf("the last line is %q", got)
	}
	if w.leftOut(agent, held, full(20_000)); w.last(held) != "4 lines left out: a job's log keeps 64 MB an attempt." {
		t.Errorf("the last line is %q", w.last(held))
	}

	// Another attempt has space, until the job has none.
	if _, err := w.Dispatch.Release(w.Ctx, agent, ref(held), report.Release{}); err != nil {
		t.Fatal(err)
	}
	held = w.Claim(agent)
	if n := w.leftOut(agent, held, []joblog.Line{line(joblog.Info, "again")}); n != 0 {
		t.Errorf("%d lines left out of the next attempt", n)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_log_use SET job_bytes = $1`, joblog.MaxJob)
	if w.leftOut(agent, held, []joblog.Line{line(joblog.Info, "x")}); w.last(held) != "1 lines left out: a job's log keeps 256 MB in all." {
		t.Errorf("the last line is %q", w.last(held))
	}
}

// Lines that are sent again take no space, also where there is none.
func TestLinesToldAgainTakeNoRoom(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	named := func(ids ...string) (lines []joblog.Line) {
		for _, id := range ids {
			one := line(joblog.Info, "line "+id)
			one.LineID = id
			lines = append(lines, one)
		}
		return lines
	}
	used := func() (bytes [3]int) {
		for i, column := range []string{"minute_bytes", "attempt_bytes", "job_bytes"} {
			bytes[i] = dbfactory.Int(t, w.DB, `SELECT `+column+` FROM job_log_use`)
		}
		return bytes
	}
	w.inOneMinute()
	size := int(named("a")[0].Size())
	for _, told := range [][]joblog.Line{named("a", "b"), named("a", "b"), named("b"), named("a", "b", "c", "c")} {
		if n := w.leftOut(agent, held, told); n != 0 {
			t.Errorf("%d lines left out", n)
		}
	}
	if got, want := used(), [3]int{3 * size, 3 * size, 3 * size}; got != want {
		t.Errorf("a, b and c have used %v; want %v", got, want)
	}

	// There is space for one more.
	dbfactory.Exec(t, w.DB, `UPDATE job_log_use SET job_bytes = $1`, joblog.MaxJob-size)
	if n := w.leftOut(agent, held, named("a", "d", "b", "e")); n != 1 || w.last(held) != "1 lines left out: a job's log keeps 256 MB in all." {
		t.Errorf("%d lines left out; the last is %q", n, w.last(held))
	}
	if n := w.leftOut(agent, held, named("a", "d")); n != 0 {
		t.Errorf("%d lines left out that are kept", n)
	}
	if n := w.leftOut(agent, held, named("f", "a")); n != 1 || w.last(held) != "2 lines left out: a job's log keeps 256 MB in all." {
		t.Errorf("%d lines left out; the last is %q", n, w.last(held))
	}
	if got := used(); got[2] != joblog.MaxJob {
		t.Errorf("%d bytes of %d are used", got[2], joblog.MaxJob)
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_log`); n != 5 {
		t.Errorf("%d lines are kept; want a, b, c, d and the one that tells of others", n)
	}
}

// inOneMinute waits, where a minute is nearly over, for the next one.
func (w *testWorkspace) inOneMinute() {
	w.T.Helper()
	dbfactory.Exec(w.T, w.DB, `SELECT pg_sleep(CASE WHEN extract(second FROM clock_timestamp()) > 40
		THEN 60.1 - extract(second FROM clock_timestamp()) ELSE 0 END)`)
}

func (w *testWorkspace) last(j jobs.Job) string {
	w.T.Helper()
	list, _, err := joblog.NewService(w.DB).Logs(w.Ctx, w.Owner, j.Key, joblog.Filter{Limit: 1})
	if err != nil || len(list) != 1 {
		w.T.Fatalf("%d lines: %v", len(list), err)
	}
	return list[0].Message
}
