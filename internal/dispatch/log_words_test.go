package dispatch_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"

	"github.com/fleetboard/fleetboard/internal/jobs/jobsearch"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// logs is a workspace in which agents write to logs.
type logs struct {
	*dispatchtest.Fixture
	search *jobsearch.Service
	words  *jobsearch.Index
	agent  tenancy.Principal
}

func newLogs(t *testing.T) *logs {
	t.Helper()
	w := dispatchtest.New(t)
	return &logs{w, jobsearch.New(w.DB), jobsearch.NewIndex(w.DB, w.Wake), w.Agent("claude-1")}
}

// writes adds lines to the log of a job, as what its attempt wrote.
func (l *logs) writes(job jobs.Job, epoch int64, lines ...string) {
	l.T.Helper()
	dbfactory.Exec(l.T, l.DB, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, event, message)
		SELECT $1, $2, $3, 'claude-1', 'INFO', 'tool.used', unnest($4::text[])`, l.Workspace, job.ID, epoch, lines)
}

// worked makes a job of which an attempt wrote these lines and ended.
func (l *logs) worked(title string, lines ...string) jobs.Job {
	l.T.Helper()
	l.Job(title)
	held := l.Claim(l.agent)
	l.writes(held, held.Epoch, lines...)
	return l.Complete(l.agent, held)
}

// index writes words until there are those of n attempts: events are seen when older
// transactions of other tests have ended.
func (l *logs) index(n int) {
	l.T.Helper()
	for dbfactory.Int(l.T, l.DB, `SELECT count(DISTINCT (job_id, epoch)) FROM job_log_words`) < n {
		if _, err := l.words.IndexLogs(l.T.Context()); err != nil {
			l.T.Fatal(err)
		}
	}
}

// finds lists what a search of logs finds: the jobs, each with its passage.
func (l *logs) finds(who tenancy.Principal, words string) string {
	l.T.Helper()
	list, err := l.search.FindLogs(l.T.Context(), who, words, 10)
	if err != nil {
		l.T.Fatal(err)
	}
	var all []string
	for _, f := range list {
		all = append(all, f.Key+": "+strings.NewReplacer("\x02", "[", "\x03", "]").Replace(f.Passage))
	}
	return strings.Join(all, "; ")
}

// Jobs are found by what was written to their logs, the newest first, each once, with the
// line; what has to stand together stands together in a line.
func TestJobsAreFoundByTheirLogs(t *testing.T) {
	l := newLogs(t)
	l.worked("one", "go test ./internal/bus", "panic: index out of range", "it was bridge.go:52", "end")
	l.worked("two", "panic: boom", "range over it", "Range over it again")
	l.index(2)
	for words, want := range map[string]string{
		"panic":            "FB-2: [panic]: boom; FB-1: [panic]: index out of range",
		"panic boom":       "FB-2: [panic]: [boom]",
		"rang":             "FB-2: [Range] over it again; FB-1: panic: index out of [range]",
		`"rang"`:           "",
		"bridge.go":        "FB-1: it was [bridge.go]:52",
		`"index out"`:      "FB-1: panic: [index out] of range",
		`"out index"`:      "",
		"panic again":      "FB-2: Range over it [again]",
		"internal/bus":     "FB-1: go test ./[internal/bus]",
		"tool.used bridge": "FB-1: it was [bridge].go:52",
		"absent":           "",
		"boom & !it":       "FB-2: Range over [it] again",
		"0":                "",
	} {
		if got := l.finds(l.Owner, words); got != want {
			t.Errorf("%s finds %q; want %q", words, got, want)
		}
	}
	for _, words := range []string{"", `"!"`, strings.Repeat("x", 201)} {
		if _, err := l.search.FindLogs(t.Context(), l.Owner, words, 10); !fault.Is(err, fault.Validation) {
			t.Errorf("%q: %v", words, err)
		}
	}
	list, err := l.search.FindLogs(t.Context(), l.Owner, "out of", 1)
	if err != nil || len(list) != 1 || list[0].In.Epoch != 1 || list[0].In.Text != "out" || list[0].In.Line.Event != "tool.used" {
		t.Errorf("the hit is %+v, %v", list, err)
	}
}

// Of a long log the beginning and the end have words; what is looked for stands in one block.
func TestALongLogIsFoundByItsEnds(t *testing.T) {
	l := newLogs(t)
	filler := make([]string, 9_000)
	for i := range filler {
		filler[i] = strings.Repeat("filler ", 15)
	}
	filler[0], filler[len(filler)/2], filler[len(filler)-1] = "dawn", "noon", "dusk"
	l.worked("long", filler...)
	l.index(1)
	for words, want := range map[string]string{"dawn": "FB-1: [dawn]", "noon": "", "dusk": "FB-1: [dusk]", "dawn dusk": "", `"dawn filler"`: ""} {
		if got := l.finds(l.Owner, words); got != want {
			t.Errorf("%s finds %q; want %q", words, got, want)
		}
	}
}

// Whatever a log consists of, its words fit.
func TestTheWordsOfAnyLogFit(t *testing.T) {
	l := newLogs(t)
	job := l.Job("odd")
	held := l.Claim(l.agent)
	// A letter of two bytes that has three in lower case, and no word twice.
	dbfactory.Exec(t, l.DB, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
		SELECT $1, $2, $3, 'a', 'INFO', string_agg(repeat('Ⱥ', 8) || n * 100 + m, '-') FROM generate_series(1, 500) n, generate_series(1, 99) m
		GROUP BY n`, l.Workspace, job.ID, held.Epoch)
	l.writes(held, 2, "of no attempt")
	l.Complete(l.agent, held)
	l.index(1)
	if got := l.finds(l.Owner, strings.Repeat("Ⱥ", 8)+"101"); !strings.HasPrefix(got, "FB-1") {
		t.Errorf("found %q", got)
	}
	if n := dbfactory.Int(t, l.DB, `SELECT count(DISTINCT (job_id, epoch)) FROM job_log_words`); n != 1 {
		t.Errorf("%d attempts have words", n)
	}
}

// What ends in a transaction that commits late, or while others look, is not skipped, whoever
// looks; an attempt that goes on has no words.
func TestNoEndedAttemptIsSkipped(t *testing.T) {
	l := newLogs(t)
	late := l.Job("late")
	held := l.Claim(l.agent)
	l.writes(held, held.Epoch, "later than others")
	commit := make(chan struct{})
	var all sync.WaitGroup
	ended := make(chan error, 1)
	appended := make(chan struct{})
	all.Go(func() {
		ended <- l.DB.In(t.Context(), db.Workspace(l.Workspace), func(tx db.Tx) error {
			err := eventlog.AppendTx(t.Context(), tx, l.Workspace, eventlog.Event{Type: eventlog.JobReleased, JobID: &late.ID, Epoch: &held.Epoch,
				Actor: l.Owner.Actor()})
			close(appended)
			<-commit
			if err == nil {
				_, err = tx.Exec(t.Context(), `UPDATE attempt SET outcome = 'released', ended_at = now() WHERE job_id = $1`, late.ID)
			}
			return err
		})
	})
	<-appended
	crew, beside := l.Crew(4), jobsearch.NewIndex(l.DB, l.Wake)
	done := make(chan struct{})
	for _, s := range []*jobsearch.Index{l.words, beside} {
		all.Go(func() {
			for more := true; more; {
				select {
				case <-done:
					more = false
				default:
				}
				if _, err := s.IndexLogs(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	rounds := func(n int) {
		for range n {
			for range crew {
				l.Job("work")
			}
			dispatchtest.AtOnce(crew, func(_ int, agent tenancy.Principal) {
				mine := l.Claim(agent)
				l.writes(mine, mine.Epoch, "a line")
				l.Complete(agent, mine)
			})
		}
	}
	rounds(4) // few: a transaction that lasts ten seconds is ended
	close(commit)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	rounds(16)
	going := l.Job("goes on")
	l.writes(l.Claim(crew[0]), 1, "a line")
	close(done)
	all.Wait()
	last := l.Job("last")
	held = l.Claim(crew[1])
	l.writes(held, held.Epoch, "the last line")
	l.Complete(crew[1], held)
	for dbfactory.Int(t, l.DB, `SELECT count(*) FROM job_log_words WHERE job_id = $1`, last.ID) == 0 {
		if _, err := beside.IndexLogs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := dbfactory.Int(t, l.DB, `SELECT count(*) FROM attempt a WHERE ended_at IS NOT NULL
		AND NOT EXISTS (SELECT FROM job_log_words w WHERE w.job_id = a.job_id AND w.epoch = a.epoch)`); n != 0 {
		t.Errorf("%d of 82 attempts that have ended have no words", n)
	}
	if n := dbfactory.Int(t, l.DB, `SELECT count(*) FROM job_log_words WHERE job_id = $1`, going.ID); n != 0 {
		t.Error("an attempt that goes on has words")
	}
}

// Nothing of a workspace's logs is found from another one, nor by the way beside the
// service.
func TestLogsAreNotSearchedFromAnotherWorkspace(t *testing.T) {
	l := newLogs(t)
	l.worked("secret", "the needle")
	l.index(1)
	stranger := dbfactory.Person(dbfactory.Workspace(t, l.DB), tenancy.RoleOwner)
	for _, words := range []string{"needle", "0", l.Workspace.String()} {
		if got := l.finds(stranger, words); got != "" {
			t.Errorf("a stranger finds %q by %s", got, words)
		}
	}
	err := l.DB.In(t.Context(), db.Workspace(stranger.Workspace), func(tx db.Tx) error {
		_, err := tx.Exec(t.Context(), `SELECT find_job_logs($1, 'needle', 10)`, l.Workspace)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "another workspace") {
		t.Errorf("asked for another workspace: %v", err)
	}
	err = l.DB.In(t.Context(), db.Workspace(stranger.Workspace), func(tx db.Tx) error {
		var n int
		err := tx.QueryRow(t.Context(), `SELECT count(DISTINCT (job_id, epoch)) FROM job_log_words`).Scan(&n)
		if n != 0 {
			t.Errorf("a stranger sees %d rows of words", n)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Words go when the last line of their attempt does, and with the job, and do not come back.
func TestWordsGoWithTheirLines(t *testing.T) {
	l := newLogs(t)
	old, young, purged := l.worked("old", "needle"), l.worked("young", "needle"), l.worked("purged", "needle")
	l.index(3)
	for _, table := range []string{"job_log SET received_at", "job_log_words SET last_at"} {
		dbfactory.Exec(t, l.DB, `UPDATE `+table+` = clock_timestamp() - interval '30 days 1 minute' WHERE job_id = $1`, old.ID)
		dbfactory.Exec(t, l.DB, `UPDATE `+table+` = clock_timestamp() - interval '29 days 23 hours' WHERE job_id = $1`, young.ID)
	}
	if n, err := joblog.NewService(l.DB).ExpireLogs(t.Context()); n != 1 || err != nil {
		t.Errorf("%d lines went, %v", n, err)
	}
	if err := l.Jobs.Purge(t.Context(), l.Owner, purged.Key); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, l.DB, `DELETE FROM job_log_words_place`)
	for n := 1; n > 0; {
		var err error
		if n, err = l.words.IndexLogs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := l.finds(l.Owner, "needle"); got != "FB-2: [needle]" {
		t.Errorf("found %q", got)
	}
	if n := dbfactory.Int(t, l.DB, `SELECT count(DISTINCT (job_id, epoch)) FROM job_log_words`); n != 1 {
		t.Errorf("%d attempts have words", n)
	}
}

// What is found by logs comes after what is found by texts, each job once.
func TestLogsComeAfterTexts(t *testing.T) {
	l := newLogs(t)
	l.worked("needle in its title", "needle in its log")
	l.worked("quiet", "a needle")
	l.index(2)
	jobstest.IndexTexts(t, l.DB)
	for in, want := range map[jobsearch.Where]string{jobsearch.Everything: "FB-1 FB-2*", jobsearch.Texts: "FB-1", jobsearch.Logs: "FB-2* FB-1*"} {
		list, err := l.search.Search(t.Context(), l.Owner, "needle", in, 10)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range list {
			key := f.Key
			if f.In != nil {
				key += "*"
			}
			all = append(all, key)
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("in %s: %s; want %s", in, got, want)
		}
	}
	if list, err := l.search.Search(t.Context(), l.Owner, "needle", jobsearch.Everything, 1); err != nil || len(list) != 1 || list[0].In != nil {
		t.Errorf("the first one is %+v, %v", list, err)
	}
}
