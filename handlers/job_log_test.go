package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// write adds lines to the log of a job, in the other process.
func (d *desk) write(agent tenancy.Principal, j jobs.Job, lines ...jobs.LogLine) {
	d.t.Helper()
	if _, err := d.elsewhere.WriteLogs(d.t.Context(), agent, dispatch.Ref{Job: j.Key, Epoch: j.Epoch}, lines); err != nil {
		d.t.Fatal(err)
	}
}

// working is a job that an agent works on.
func (d *desk) working() (tenancy.Principal, jobs.Job) {
	d.t.Helper()
	d.job("Alpha")
	agent := d.agent("claude-1")
	return agent, d.claim(agent)
}

// numbered are lines that say which they are.
func numbered(from, to int) []jobs.LogLine {
	var list []jobs.LogLine
	for i := from; i <= to; i++ {
		list = append(list, jobs.LogLine{Level: jobs.Info, Message: fmt.Sprintf("line %04d", i)})
	}
	return list
}

const hostile = "<script>alert(1)</script>\x1b[31m\u202eevil\r\n</li><hx-partial hx-target=\"body\">"

func TestJobLogShowsWhatAgentsWrote(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	d.write(agent, j,
		jobs.LogLine{Level: jobs.Debug, Message: "looking"},
		jobs.LogLine{Level: jobs.Warning, Event: "test.slow", Message: "2 s", Details: json.RawMessage(`{"budget":{"ms":1000}}`)},
		jobs.LogLine{Level: jobs.Critical, Message: hostile, Event: "<b>", Details: json.RawMessage(`{"<i>":"\u202e</pre>"}`)},
		jobs.LogLine{Level: jobs.Error, Message: strings.Repeat("long ", 1000)})
	doc := page(t, d.get("/jobs/FB-1/log"), http.StatusOK)
	wantCount(t, doc, "#joblog-list > li", 4)
	wantText(t, doc, "#joblog-list > li:nth-child(1)", "Debug claude-1 e1looking")
	wantText(t, doc, "#joblog-list > li:nth-child(2)", `Warning claude-1 e1test.slow 2 s details { "budget": { "ms": 1000 } }`)
	wantText(t, doc, "#joblog-list > li:nth-child(3)", "Critical")
	wantText(t, doc, "#joblog-list > li:nth-child(3) bdi", "<script>alert(1)</script>␛[31m�evil </li><hx-partial")
	wantText(t, doc, "#joblog-list > li:nth-child(3) pre", `"<i>": "�</pre>"`)
	wantCount(t, doc, "#joblog script, #joblog hx-partial, #joblog b, #joblog i", 0)
	wantText(t, doc, "#joblog-list > li:nth-child(4) summary", "all of it")

	if got := len(doc.Find("#joblog-list > li:nth-child(4) bdi").Text()); got > maxMessage+10 {
		t.Errorf("%d bytes of a long message are shown at first", got)
	}
	wantCount(t, doc, "p[hidden] #joblog-older", 1)
	wantCount(t, doc, "#joblog[hx-morph-skip] #joblog-live", 1)
}

func TestJobLogIsNarrowedByLinks(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	for _, level := range jobs.LogLevels {
		d.write(agent, j, jobs.LogLine{Level: level, Message: "one " + string(level)})
	}
	doc := page(t, d.get("/jobs/FB-1/log"), http.StatusOK)
	wantText(t, doc, "#joblog nav a[aria-current=true]", "All")
	warnings := doc.Find("#joblog nav a").FilterFunction(func(_ int, s *goquery.Selection) bool { return s.Text() == "Warnings" }).AttrOr("href", "")
	doc = page(t, d.get(warnings), http.StatusOK)
	wantText(t, doc, "#joblog nav a[aria-current=true]", "Warnings")
	wantCount(t, doc, "#joblog-list > li", 3)
	live := doc.Find("#joblog-live").AttrOr("hx-sse:connect", "")
	if u, err := url.Parse(live); err != nil || u.Query().Get("level") != "WARNING" {
		t.Errorf("its stream is %q", live)
	}
	doc = page(t, d.get("/jobs/FB-1/log?epoch=2&level=nonsense&before=x"), http.StatusOK)
	wantCount(t, doc, "#joblog-list > li", 0)
	wantText(t, doc, "#joblog .chip", "attempt 2")
	wantText(t, doc, "#joblog-body", "No agent has written anything yet.")
}

func TestOlderLinesArePagesOfTheirOwn(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	d.write(agent, j, numbered(1, 450)...)
	doc := page(t, d.get("/jobs/FB-1/log"), http.StatusOK)
	wantCount(t, doc, "#joblog-list > li", logPage)
	wantText(t, doc, "#joblog-list > li:first-child", "line 0251")
	wantText(t, doc, "#joblog-list > li:last-child", "line 0450")
	doc = page(t, d.get(doc.Find("#joblog-older").AttrOr("href", "")), http.StatusOK)
	wantText(t, doc, "#joblog-list > li:last-child", "line 0250")
	wantCount(t, doc, "#joblog-live", 0)
	wantCount(t, doc, "#joblog a[href='/jobs/FB-1/log']", 2) // All levels, and the newest lines
	older := doc.Find("#joblog-older").AttrOr("href", "")
	r := request(http.MethodGet, older, nil)
	r.Header.Set("HX-Request", "true")
	doc = page(t, d.do(r), http.StatusOK)
	wantCount(t, doc, "#joblog-list > li", 50)
	wantText(t, doc, "#joblog-list > li:first-child", "line 0001")
	wantCount(t, doc, "main, nav.nav", 0)
	wantCount(t, doc, "p[hidden] #joblog-older", 1)
}

func TestLiveLogAddsLinesAsTheyAreWritten(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	d.write(agent, j, numbered(1, 2)...)
	base := d.listen(t)
	target := page(t, d.get("/jobs/FB-1/log"), http.StatusOK).Find("#joblog-live").AttrOr("hx-sse:connect", "")
	s := d.stream(t, base+target, "")
	d.write(agent, j, numbered(3, 3)...)
	m := s.until("line 0003")
	doc := parse(t, m.data)
	wantCount(t, doc, `hx-partial[hx-target="#joblog-list"][hx-swap=beforeend] > li`, 1)
	if m.id == "" || m.event != "" {
		t.Errorf("message with id %q and event %q", m.id, m.event)
	}
	d.write(agent, j, jobs.LogLine{Level: jobs.Error, Message: hostile})
	wantText(t, parse(t, s.until("evil").data), "li bdi", "<script>alert(1)</script>␛[31m�evil </li>")

	// A reader that comes back gets what it missed, once.
	back := d.stream(t, base+target, m.id)
	doc = parse(t, back.until("evil").data)
	wantCount(t, doc, "li", 1)
	d.write(agent, j, numbered(5, 5)...)
	wantCount(t, parse(t, back.until("line 0005").data), "li", 1)
}

func TestLiveLogKeepsTheFilter(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	s := d.stream(t, d.listen(t)+"/jobs/FB-1/log/stream?after=0&level=ERROR", "")
	d.write(agent, j, jobs.LogLine{Level: jobs.Info, Message: "small talk"}, jobs.LogLine{Level: jobs.Critical, Message: "the end"})
	if m := s.until("the end"); strings.Contains(m.data, "small talk") {
		t.Errorf("the message has what the filter leaves out: %s", m.data)
	}
}

// A burst comes in parts; a reader that is far behind gets the newest lines in
// place of all.
func TestLiveLogOfABurst(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	for from := 1; from <= 3000; from += 1000 {
		d.write(agent, j, numbered(from, from+999)...)
	}
	s := d.stream(t, d.listen(t)+"/jobs/FB-1/log/stream?after=0", "")
	wantCount(t, parse(t, s.until("line 0001").data), "li", logPage)
	doc := parse(t, s.until("line 3000").data)
	wantCount(t, doc, `hx-partial[hx-target="#joblog-body"] #joblog-list > li`, logPage)
	wantText(t, doc, "#joblog-list > li:first-child", "line 2801")
	d.write(agent, j, numbered(3001, 3001)...)
	wantCount(t, parse(t, s.until("line 3001").data), "li", 1)
}

func TestLiveLogEndsWithTheSession(t *testing.T) {
	d := newDesk(t)
	d.working()
	member := d.as(tenancy.RoleViewer)
	s := member.stream(t, d.listen(t)+"/jobs/FB-1/log/stream?after=0", "")
	read(t, member.post("/logout", nil), http.StatusSeeOther)
	for {
		if _, err := s.next(); err != nil {
			return
		}
	}
}

func TestLogsThatAreNotShown(t *testing.T) {
	d := newDesk(t)
	d.working()
	base := d.listen(t)
	for target, status := range map[string]int{
		"/jobs/FB-9/log": http.StatusNotFound, "/jobs/FB-9/attempts": http.StatusNotFound,
		"/jobs/FB-9/log/stream?after=0": http.StatusNotFound, "/jobs/FB-1/log/stream": http.StatusBadRequest,
		"/jobs/FB-1/log/stream?after=-1": http.StatusBadRequest,
	} {
		if res := d.open(t, base+target, ""); res.StatusCode != status {
			t.Errorf("%s answers %d, want %d", target, res.StatusCode, status)
		}
	}
	for range streamsPerPerson {
		d.stream(t, base+"/jobs/FB-1/log/stream?after=0", "")
	}
	if res := d.open(t, base+"/jobs/FB-1/log/stream?after=0", ""); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("one stream too many answers %d", res.StatusCode)
	}
}

func TestAttemptsPage(t *testing.T) {
	d := newDesk(t)
	agent, j := d.working()
	session, done, step := "s-7", 40, "Reaper <b>tests"
	dbfactory.Exec(t, d.db, `UPDATE attempt SET session_key = $1`, session)
	d.write(agent, j, numbered(1, 3)...)
	ref := dispatch.Ref{Job: j.Key, Epoch: j.Epoch}
	if _, err := d.elsewhere.Progress(t.Context(), agent, ref, dispatch.Progress{Percent: &done, Step: &step, Checkpoint: json.RawMessage(`{"at":2}`)}); err != nil {
		t.Fatal(err)
	}
	_, err := d.elsewhere.Fail(t.Context(), agent, ref, dispatch.Failure{Error: "it <i>broke\x1b", Kind: string(jobs.FailedChecks), Stack: "at main.go:7\nat x.go", Retryable: true})
	if err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, d.db, `INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, ended_at, outcome)
		SELECT workspace_id, job_id, n, 'claude-' || n, 'mac-1', now(), 'lost' FROM attempt, generate_series(2, 25) n`)
	doc := page(t, d.get("/jobs/FB-1/attempts"), http.StatusOK)
	wantCount(t, doc, "section[id^=attempt-]", attemptPage)
	wantText(t, doc, "#attempt-25", "Attempt 25Lost")
	wantText(t, doc, "#attempt-25", "no log lines")
	doc = page(t, d.get(doc.Find("#attempts-older").AttrOr("href", "")), http.StatusOK)
	wantCount(t, doc, "section[id^=attempt-]", 5)
	wantText(t, doc, "#attempt-1 header", "Attempt 1Failed 4 log lines")
	wantText(t, doc, "#attempt-1", "claude-1 on factory-of-claude-1")
	wantText(t, doc, "#attempt-1", "ModelsonnetSessions-7")
	wantText(t, doc, "#attempt-1", "40% Reaper <b>tests")
	wantText(t, doc, "#attempt-1", "checks_failed")
	wantText(t, doc, "#attempt-1 pre.bad", "it <i>broke␛")
	wantText(t, doc, "#attempt-1 details", "Stackat main.go:7 at x.go")
	wantText(t, doc, "#attempt-1 details", `Checkpoint{ "at": 2 }`)
	wantCount(t, doc, "#attempt-1 i, #attempts-older", 0)
	wantCount(t, doc, "a[href='/jobs/FB-1/attempts']", 1)
	log := page(t, d.get(doc.Find("#attempt-1 header a").AttrOr("href", "")), http.StatusOK)
	wantCount(t, log, "#joblog-list > li", 4)
	wantText(t, log, "#joblog-list", "The attempt failed: it <i>broke")
	wantText(t, log, "#joblog .chip", "attempt 1")
}
