package job_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/job"
	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// numbered are lines that say which they are.
func numbered(from, to int) []joblog.Line {
	var list []joblog.Line
	for i := from; i <= to; i++ {
		list = append(list, joblog.Line{Level: joblog.Info, Message: fmt.Sprintf("line %04d", i)})
	}
	return list
}

const hostile = "<script>alert(1)</script>\x1b[31m\u202eevil\r\n</li><hx-partial hx-target=\"body\">"

func TestJobLogShowsWhatAgentsWrote(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.Write(agent, j,
		joblog.Line{Level: joblog.Debug, Message: "looking"},
		joblog.Line{Level: joblog.Warning, Event: "test.slow", Message: "2 s", Details: json.RawMessage(`{"budget":{"ms":1000}}`)},
		joblog.Line{Level: joblog.Critical, Message: hostile, Event: "<b>", Details: json.RawMessage(`{"<i>":"\u202e</pre>"}`)},
		joblog.Line{Level: joblog.Error, Message: strings.Repeat("long ", 1000)})
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/log"), http.StatusOK)
	handlertest.WantCount(t, doc, "#joblog-list > li", 4)
	handlertest.WantText(t, doc, "#joblog-list > li:nth-child(1)", "Debug claude-1 e1looking")
	handlertest.WantText(t, doc, "#joblog-list > li:nth-child(2)", `Warning claude-1 e1test.slow 2 s details { "budget": { "ms": 1000 } }`)
	handlertest.WantText(t, doc, "#joblog-list > li:nth-child(3)", "Critical")
	handlertest.WantText(t, doc, "#joblog-list > li:nth-child(3) bdi", "<script>alert(1)</script>␛[31m�evil </li><hx-partial")
	handlertest.WantText(t, doc, "#joblog-list > li:nth-child(3) pre", `"<i>": "�</pre>"`)
	handlertest.WantCount(t, doc, "#joblog script, #joblog hx-partial, #joblog b, #joblog i", 0)
	handlertest.WantText(t, doc, "#joblog-list > li:nth-child(4) summary", "all of it")

	if got := len(doc.Find("#joblog-list > li:nth-child(4) bdi").Text()); got > job.MaxMessage+10 {
		t.Errorf("%d bytes of a long message are shown at first", got)
	}
	handlertest.WantCount(t, doc, "p[hidden] #joblog-older", 1)
	handlertest.WantCount(t, doc, "#joblog[hx-morph-skip] #joblog-live", 1)
}

func TestJobLogIsNarrowedByLinks(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	for _, level := range joblog.Levels {
		d.Write(agent, j, joblog.Line{Level: level, Message: "one " + string(level)})
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/log"), http.StatusOK)
	handlertest.WantText(t, doc, "#joblog nav a[aria-current=true]", "All")
	warnings := doc.Find("#joblog nav a").FilterFunction(func(_ int, s *goquery.Selection) bool { return s.Text() == "Warnings" }).AttrOr("href", "")
	doc = handlertest.Page(t, d.Get(warnings), http.StatusOK)
	handlertest.WantText(t, doc, "#joblog nav a[aria-current=true]", "Warnings")
	handlertest.WantCount(t, doc, "#joblog-list > li", 3)
	live := doc.Find("#joblog-live").AttrOr("hx-sse:connect", "")
	if u, err := url.Parse(live); err != nil || u.Query().Get("level") != "WARNING" {
		t.Errorf("its stream is %q", live)
	}
	doc = handlertest.Page(t, d.Get("/jobs/FB-1/log?epoch=2&level=nonsense&before=x"), http.StatusOK)
	handlertest.WantCount(t, doc, "#joblog-list > li", 0)
	handlertest.WantText(t, doc, "#joblog .chip", "attempt 2")
	handlertest.WantText(t, doc, "#joblog-body", "No agent has written anything yet.")
}

func TestOlderLinesArePagesOfTheirOwn(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.Write(agent, j, numbered(1, 450)...)
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/log"), http.StatusOK)
	handlertest.WantCount(t, doc, "#joblog-list > li", job.LogPage)
	handlertest.WantText(t, doc, "#joblog-list > li:first-child", "line 0251")
	handlertest.WantText(t, doc, "#joblog-list > li:last-child", "line 0450")
	doc = handlertest.Page(t, d.Get(doc.Find("#joblog-older").AttrOr("href", "")), http.StatusOK)
	handlertest.WantText(t, doc, "#joblog-list > li:last-child", "line 0250")
	handlertest.WantCount(t, doc, "#joblog-live", 0)
	handlertest.WantCount(t, doc, "#joblog a[href='/jobs/FB-1/log']", 2) // All levels, and the newest lines
	older := doc.Find("#joblog-older").AttrOr("href", "")
	r := handlertest.Request(http.MethodGet, older, nil)
	r.Header.Set("HX-Request", "true")
	doc = handlertest.Page(t, d.Do(r), http.StatusOK)
	handlertest.WantCount(t, doc, "#joblog-list > li", 50)
	handlertest.WantText(t, doc, "#joblog-list > li:first-child", "line 0001")
	handlertest.WantCount(t, doc, "main, nav.nav", 0)
	handlertest.WantCount(t, doc, "p[hidden] #joblog-older", 1)
}

func TestLiveLogAddsLinesAsTheyAreWritten(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.Write(agent, j, numbered(1, 2)...)
	base := d.Listen(t)
	target := handlertest.Page(t, d.Get("/jobs/FB-1/log"), http.StatusOK).Find("#joblog-live").AttrOr("hx-sse:connect", "")
	s := d.Stream(t, base+target, "")
	d.Write(agent, j, numbered(3, 3)...)
	m := s.Until("line 0003")
	doc := handlertest.Parse(t, m.Data)
	handlertest.WantCount(t, doc, `hx-partial[hx-target="#joblog-list"][hx-swap=beforeend] > li`, 1)
	if m.ID == "" || m.Event != "" {
		t.Errorf("message with id %q and event %q", m.ID, m.Event)
	}
	d.Write(agent, j, joblog.Line{Level: joblog.Error, Message: hostile})
	handlertest.WantText(t, handlertest.Parse(t, s.Until("evil").Data), "li bdi", "<script>alert(1)</script>␛[31m�evil </li>")

	// A reader that comes back gets what it missed, once.
	back := d.Stream(t, base+target, m.ID)
	doc = handlertest.Parse(t, back.Until("evil").Data)
	handlertest.WantCount(t, doc, "li", 1)
	d.Write(agent, j, numbered(5, 5)...)
	handlertest.WantCount(t, handlertest.Parse(t, back.Until("line 0005").Data), "li", 1)
}

func TestLiveLogKeepsTheFilter(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	s := d.Stream(t, d.Listen(t)+"/live/jobs/FB-1/log?after=0&level=ERROR", "")
	d.Write(agent, j, joblog.Line{Level: joblog.Info, Message: "small talk"}, joblog.Line{Level: joblog.Critical, Message: "the end"})
	if m := s.Until("the end"); strings.Contains(m.Data, "small talk") {
		t.Errorf("the message has what the filter leaves out: %s", m.Data)
	}
}

// A burst comes in parts; a reader that is far behind gets the newest lines in
// place of all.
func TestLiveLogOfABurst(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	for from := 1; from <= 3000; from += 1000 {
		d.Write(agent, j, numbered(from, from+999)...)
	}
	s := d.Stream(t, d.Listen(t)+"/live/jobs/FB-1/log?after=0", "")
	handlertest.WantCount(t, handlertest.Parse(t, s.Until("line 0001").Data), "li", job.LogPage)
	doc := handlertest.Parse(t, s.Until("line 3000").Data)
	handlertest.WantCount(t, doc, `hx-partial[hx-target="#joblog-body"] #joblog-list > li`, job.LogPage)
	handlertest.WantText(t, doc, "#joblog-list > li:first-child", "line 2801")
	d.Write(agent, j, numbered(3001, 3001)...)
	handlertest.WantCount(t, handlertest.Parse(t, s.Until("line 3001").Data), "li", 1)
}

func TestLiveLogEndsWithTheSession(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Working()
	member := d.As(tenancy.RoleViewer)
	s := member.Stream(t, d.Listen(t)+"/live/jobs/FB-1/log?after=0", "")
	handlertest.Read(t, member.Post("/logout", nil), http.StatusSeeOther)
	for {
		if _, err := s.Next(); err != nil {
			return
		}
	}
}

func TestLogsThatAreNotShown(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Working()
	base := d.Listen(t)
	for target, status := range map[string]int{
		"/jobs/FB-9/log": http.StatusNotFound, "/jobs/FB-9/attempts": http.StatusNotFound,
		"/live/jobs/FB-9/log?after=0": http.StatusNotFound, "/live/jobs/FB-1/log": http.StatusBadRequest,
		"/live/jobs/FB-1/log?after=-1": http.StatusBadRequest,
	} {
		if res := d.Open(t, base+target, ""); res.StatusCode != status {
			t.Errorf("%s answers %d, want %d", target, res.StatusCode, status)
		}
	}
	for range live.StreamsPerPerson {
		d.Stream(t, base+"/live/jobs/FB-1/log?after=0", "")
	}
	if res := d.Open(t, base+"/live/jobs/FB-1/log?after=0", ""); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("one stream too many answers %d", res.StatusCode)
	}
}

func TestAttemptsPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	session, done, step := "s-7", 40, "Reaper <b>tests"
	dbfactory.Exec(t, d.DB, `UPDATE attempt SET session_key = $1`, session)
	d.Write(agent, j, numbered(1, 3)...)
	ref := lease.Ref{Job: j.Key, Epoch: j.Epoch}
	if _, err := d.OtherProcess.Progress(t.Context(), agent, ref, report.Progress{Percent: &done, Step: &step, Checkpoint: json.RawMessage(`{"at":2}`)}); err != nil {
		t.Fatal(err)
	}
	_, err := d.OtherProcess.Fail(t.Context(), agent, ref, report.Failure{Error: "it <i>broke\x1b", Kind: string(jobs.FailedChecks), Stack: "at main.go:7\nat x.go", Retryable: true})
	if err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, d.DB, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, ended_at, outcome)
		SELECT workspace_id, job_id, n, 'claude-' || n, 'mac-1', now(), 'lost' FROM attempt, generate_series(2, 25) n`)
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/attempts"), http.StatusOK)
	handlertest.WantCount(t, doc, "section[id^=attempt-]", job.AttemptPage)
	handlertest.WantText(t, doc, "#attempt-25", "Attempt 25Lost")
	handlertest.WantText(t, doc, "#attempt-25", "no log lines")
	doc = handlertest.Page(t, d.Get(doc.Find("#attempts-older").AttrOr("href", "")), http.StatusOK)
	handlertest.WantCount(t, doc, "section[id^=attempt-]", 5)
	handlertest.WantText(t, doc, "#attempt-1 header", "Attempt 1Failed 4 log lines")
	handlertest.WantText(t, doc, "#attempt-1", "claude-1 on factory-of-claude-1")
	handlertest.WantText(t, doc, "#attempt-1", "ModelsonnetSessions-7")
	handlertest.WantText(t, doc, "#attempt-1", "40% Reaper <b>tests")
	handlertest.WantText(t, doc, "#attempt-1", "checks_failed")
	handlertest.WantText(t, doc, "#attempt-1 pre.bad", "it <i>broke␛")
	handlertest.WantText(t, doc, "#attempt-1 details", "Stackat main.go:7 at x.go")
	handlertest.WantText(t, doc, "#attempt-1 details", `Checkpoint{ "at": 2 }`)
	handlertest.WantCount(t, doc, "#attempt-1 i, #attempts-older", 0)
	handlertest.WantCount(t, doc, "a[href='/jobs/FB-1/attempts']", 1)
	log := handlertest.Page(t, d.Get(doc.Find("#attempt-1 header a").AttrOr("href", "")), http.StatusOK)
	handlertest.WantCount(t, log, "#joblog-list > li", 4)
	handlertest.WantText(t, log, "#joblog-list", "The attempt failed: it <i>broke")
	handlertest.WantText(t, log, "#joblog .chip", "attempt 1")
}

// A line has a link of its own, to the lines around it.
func TestALineOfALogHasALink(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.Write(agent, j, numbered(1, 450)...)
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/log?before=201"), http.StatusOK)
	line := doc.Find("#joblog-list > li").FilterFunction(func(_ int, s *goquery.Selection) bool { return strings.Contains(s.Text(), "line 0100") })
	to, id, _ := strings.Cut(line.Find("a[aria-label^='Line ']").AttrOr("href", ""), "#")
	doc = handlertest.Page(t, d.Get(to), http.StatusOK)
	handlertest.WantText(t, doc, "#joblog-list > li#"+id, "line 0100")
	handlertest.WantText(t, doc, "#joblog-list > li:first-child", "line 0001")
	handlertest.WantText(t, doc, "#joblog-list > li:last-child", "line 0150")
	handlertest.WantCount(t, doc, "#joblog-live", 0)
	to, _, _ = strings.Cut(doc.Find("#joblog-newer").AttrOr("href", ""), "#")
	handlertest.WantText(t, handlertest.Page(t, d.Get(to), http.StatusOK), "#joblog-list > li:last-child", "line 0200")
}

func TestALogIsSearched(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.Write(agent, j, numbered(1, 30)...)
	d.Write(agent, j, joblog.Line{Level: joblog.Error, Message: "50% of LINE <b>", Event: "test.failed"})
	search := func(q, more string) *goquery.Document {
		return handlertest.Page(t, d.Get("/jobs/FB-1/log?q="+url.QueryEscape(q)+more), http.StatusOK)
	}
	doc := search("E 001", "")
	handlertest.WantCount(t, doc, "#joblog-list > li", 10)
	handlertest.WantText(t, doc, "#joblog-list > li:first-child mark", "e 001")
	handlertest.WantText(t, doc, "#joblog .chip", "10 found")
	handlertest.WantCount(t, doc, "#joblog-live", 0)
	handlertest.WantText(t, search("0% of line <", ""), "#joblog-list > li bdi", "50% of LINE <b>")
	handlertest.WantCount(t, search("TEST.fail", ""), "#joblog-list > li", 1)
	handlertest.WantCount(t, search("line", "&level=ERROR"), "#joblog-list > li", 1)
	handlertest.WantText(t, search("%%", ""), "#joblog-body", "No line has this text.")
}

// A search looks at a part of a long log, and goes on from there.
func TestASearchLooksAtAPartOfALongLog(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	_, j := d.Working()
	dbfactory.Exec(t, d.DB, `INSERT INTO job_log (workspace_id, job_id, epoch, agent, level, message)
		SELECT $1, $2, 1, 'claude-1', 'INFO', CASE n WHEN 1 THEN 'the needle' ELSE 'hay' END FROM generate_series(1, $3::int) n`,
		d.Owner.Workspace, j.ID, joblog.MaxScan+10)
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/log?q=needle"), http.StatusOK)
	handlertest.WantCount(t, doc, "#joblog-list > li", 0)
	handlertest.WantText(t, doc, "#joblog-body", "There are older ones.")
	doc = handlertest.Page(t, d.Get(doc.Find("#joblog-older").AttrOr("href", "")), http.StatusOK)
	handlertest.WantText(t, doc, "#joblog-list > li", "the needle")
	handlertest.WantCount(t, doc, "p[hidden] #joblog-older", 1)
}

func TestALogIsAFile(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent, j := d.Working()
	d.Write(agent, j, numbered(1, 450)...)
	d.Write(agent, j, joblog.Line{Level: joblog.Error, Event: "test.failed", Message: "\x1b[2Jtwo\nlines", Details: json.RawMessage(`{"n":1}`)})
	res := d.Get("/jobs/FB-1/log/text")
	if got := res.Header.Get("Content-Disposition"); got != `attachment; filename="FB-1.log.txt"` {
		t.Errorf("it is a file by %q", got)
	}
	lines := strings.Split(strings.TrimSpace(handlertest.Read(t, res, http.StatusOK)), "\n")
	if len(lines) != 452 || !strings.HasSuffix(lines[0], " INFO     claude-1 e1  line 0001") ||
		!strings.HasSuffix(lines[450], " ERROR    claude-1 e1  test.failed ␛[2Jtwo") || lines[451] != `    lines {"n": 1}` {
		t.Errorf("%d lines: %q … %q", len(lines), lines[0], lines[len(lines)-2:])
	}
	if text := handlertest.Read(t, d.Get("/jobs/FB-1/log/text?level=ERROR"), http.StatusOK); strings.Count(text, "\n") != 2 {
		t.Errorf("the errors are %q", text)
	}
	handlertest.Read(t, d.Get("/jobs/FB-9/log/text"), http.StatusNotFound)
}

// The log says whether more is to come.
func TestALogSaysItsState(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Later")
	agent, j := d.Working()
	state := func(key, want string) {
		t.Helper()
		handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/"+key), http.StatusOK), ".jobmain #joblog-state", want)
	}
	state(j.Key, "live")
	dbfactory.Exec(t, d.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '2 minutes'`)
	state(j.Key, "agent silent since")
	if _, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Completion{}); err != nil {
		t.Fatal(err)
	}
	state(j.Key, "ended")
}
