package needsyou_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// jobThatAsks makes a job whose agent asks a person.
func jobThatAsks(t *testing.T, d *handlertest.Workspace, agent tenancy.Principal, title, question string) {
	t.Helper()
	d.Job(title)
	j := d.Claim(agent)
	if _, err := d.OtherProcess.Ask(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Question{Text: question}); err != nil {
		t.Fatal(err)
	}
}

// jobThatFailed makes a job that failed and has no retries left.
func jobThatFailed(t *testing.T, d *handlertest.Workspace, agent tenancy.Principal, title string) {
	t.Helper()
	d.Job(title, func(n *jobs.New) { n.MaxRetries = new(0) })
	j := d.Claim(agent)
	if _, err := d.OtherProcess.Fail(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Failure{Error: "exit status 2"}); err != nil {
		t.Fatal(err)
	}
}

// workspaceWithEachNeed returns a workspace with one job for each reason why a job needs a person, and
// others that need nobody. FB-n has been in its status for n hours.
func workspaceWithEachNeed(t *testing.T) *handlertest.Workspace {
	t.Helper()
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	jobThatAsks(t, d, agent, "Rotate the signing key", "24 hours\nor 48?")                  // FB-1
	d.HandIn(agent, "Drain a factory", report.Completion{})                                 // FB-2
	jobThatFailed(t, d, agent, "Publish the client")                                        // FB-3
	d.Job("Show invoices", func(n *jobs.New) { n.Capabilities = []string{"engine:codex"} }) // FB-4
	d.Job("Blocked by hand")                                                                // FB-5
	d.Act(t, "FB-5", actions.Action{Verb: jobs.ByBlock, Reason: "later"})
	d.Job("Cancelled") // FB-6
	d.Act(t, "FB-6", actions.Action{Verb: jobs.ByCancel})
	d.Job("Can start") // FB-7
	dbfactory.Exec(t, d.DB, `UPDATE job SET status_at = now() - make_interval(hours => substr(key, 4)::int)`)
	dbfactory.Exec(t, d.DB, `UPDATE job_ready r SET ready_at = j.status_at FROM job j WHERE j.id = r.job_id`)
	return d
}

func keysOf(doc *goquery.Document) string {
	var keys []string
	doc.Find(".need").Each(func(_ int, row *goquery.Selection) {
		keys = append(keys, strings.TrimPrefix(row.AttrOr("id", ""), "need-"))
	})
	return strings.Join(keys, " ")
}

// The page lists what waits for a person, the oldest first, with what to do about it.
func TestThePageListsWhatWaitsForAPerson(t *testing.T) {
	d := workspaceWithEachNeed(t)
	doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	if got := keysOf(doc); got != "fb-4 fb-3 fb-2 fb-1" {
		t.Errorf("the page lists %s", got)
	}
	handlertest.WantText(t, doc, "#needs-count", "1 question, 1 review, 1 without a factory, 1 failed")
	handlertest.WantText(t, doc, "#need-fb-1", "claude-1 asks: 24 hours or 48?")
	handlertest.WantCount(t, doc, `#need-fb-1 form[action="/jobs/FB-1/answer"] textarea[required]`, 1)
	handlertest.WantCount(t, doc, `#need-fb-2 a[href="/review?job=FB-2"]`, 1)
	handlertest.WantText(t, doc, "#need-fb-3", "exit status 2")
	handlertest.WantCount(t, doc, `#need-fb-3 form[action="/jobs/FB-3/retry"]`, 1)
	handlertest.WantCount(t, doc, `#need-fb-3 form[action="/jobs/FB-3/archive"]`, 1)
	handlertest.WantText(t, doc, "#need-fb-4", "engine:codex")
	handlertest.WantCount(t, doc, `#need-fb-4 a[href="/jobs/FB-4/edit#engine"]`, 1)
	handlertest.WantCount(t, doc, `#need-fb-3 a[href="/jobs/FB-3/edit?then=retry"]`, 1)
	handlertest.WantCount(t, doc, `#live[hx-sse\:connect*="on=needs-you"]`, 1)
}

// Every page has the count: in the navigation, the title and the icon.
func TestEveryPageCountsWhatWaitsForAPerson(t *testing.T) {
	d := workspaceWithEachNeed(t)
	for _, path := range []string{"/board", "/jobs/FB-1", "/settings/account", "/needs-you"} {
		doc := handlertest.Page(t, d.Get(path), http.StatusOK)
		handlertest.WantText(t, doc, "#nav-needs-n", "4 wait for a person")
		handlertest.WantText(t, doc, "#dock-needs-n", "4")
		handlertest.WantText(t, doc, "#nav-review-n", "1")
		if title := doc.Find("title").First().Text(); !strings.HasPrefix(title, "(4) ") {
			t.Errorf("%s: title %q", path, title)
		}
		if icon := doc.Find("#icon").AttrOr("href", ""); !strings.HasPrefix(icon, "/static/mark-needed-") {
			t.Errorf("%s: icon %q", path, icon)
		}
	}
}

func TestThePageWithNothingToDo(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
	handlertest.WantText(t, doc, ".empty", "Nothing needs you")
	handlertest.WantText(t, doc, "#nav-needs-n", "")
	if title := doc.Find("title").First().Text(); !strings.HasPrefix(title, "Needs you · ") {
		t.Errorf("title %q", title)
	}
	if icon := doc.Find("#icon").AttrOr("href", ""); icon != doc.Find("#icon").AttrOr("data-calm", "none") {
		t.Errorf("icon %q", icon)
	}
}

// A viewer sees why, and no form.
func TestAViewerOnlyLooks(t *testing.T) {
	d := workspaceWithEachNeed(t)
	doc := handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/needs-you"), http.StatusOK)
	if got := keysOf(doc); got != "fb-4 fb-3 fb-2 fb-1" {
		t.Errorf("the page lists %s", got)
	}
	handlertest.WantCount(t, doc, ".need form", 0)
	handlertest.WantText(t, doc, "#need-fb-1", "claude-1 asks:")
}

// The forms of the rows work without script, which lead back to the page, and with it.
func TestTheRowsAct(t *testing.T) {
	d := workspaceWithEachNeed(t)
	for _, c := range []struct {
		key, verb, said, after string
		fields                 url.Values
		status                 jobs.Status
	}{
		{"FB-1", "answer", "FB-1 got its answer", "fb-4 fb-3 fb-2", url.Values{"answer": {"48"}}, jobs.Ready},
		{"FB-3", "retry", "FB-3 is tried again", "fb-4 fb-2", nil, jobs.Ready},
	} {
		j := d.Now(jobs.Job{Key: c.key})
		fields := url.Values{"version": {strconv.Itoa(j.Version)}}
		for name, value := range c.fields {
			fields[name] = value
		}
		r := handlertest.Request(http.MethodPost, "/jobs/"+c.key+"/"+c.verb, fields)
		r.Header.Set("Referer", "http://example.com/needs-you")
		handlertest.WantRedirect(t, d.Do(r), "/needs-you")
		doc := handlertest.Page(t, d.Get("/needs-you"), http.StatusOK)
		handlertest.WantText(t, doc, "#toasts", c.said)
		if got := keysOf(doc); got != c.after {
			t.Errorf("%s %s leaves %s", c.verb, c.key, got)
		}
		if now := d.Now(j); now.Status != c.status {
			t.Errorf("%s is %s", c.key, now.Status)
		}
	}
}

// By htmx the answer is the list as it is now.
func TestARowIsAnsweredInPlace(t *testing.T) {
	d := workspaceWithEachNeed(t)
	j := d.Now(jobs.Job{Key: "FB-3"})
	doc := handlertest.Page(t, d.Hx("/needs-you", "/jobs/FB-3/archive", url.Values{"version": {strconv.Itoa(j.Version)}}), http.StatusOK)
	if got := keysOf(doc); got != "fb-4 fb-2 fb-1" {
		t.Errorf("the answer lists %s", got)
	}
	handlertest.WantText(t, doc, `hx-partial[hx-target="#needs-count"]`, "1 question, 1 review, 1 without a factory")
}

// The stream brings the row, and the count to every page.
func TestTheStreamBringsWhatWaitsForAPerson(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Live.Settle = time.Millisecond
	agent := d.Agent("claude-1")
	dbfactory.Readable(t, d.DB)
	base := d.Listen(t)
	page, board := d.Stream(t, base+d.LiveURL("/needs-you"), ""), d.Stream(t, base+d.LiveURL("/board"), "")
	jobThatAsks(t, d, agent, "Rotate the signing key", "24 hours or 48?")
	handlertest.WantText(t, handlertest.Parse(t, page.Until("need-fb-1").Data), "#need-fb-1", "24 hours or 48?")
	handlertest.WantText(t, handlertest.Parse(t, board.Until(`data-count="1"`).Data), "#nav-needs-n", "1")
	d.Act(t, "FB-1", actions.Action{Verb: jobs.ByAnswer, Reason: "48"})
	handlertest.WantText(t, handlertest.Parse(t, page.Until("Nothing needs you").Data), ".empty", "Nothing needs you")
	handlertest.WantText(t, handlertest.Parse(t, board.Until(`id="nav-needs-n" data-count=""`).Data), "#nav-needs-n", "")
}

// A job that no factory can run waits for a person until one can.
func TestAnEditOrAFactoryEndsTheWait(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	j := d.Job("Show invoices", func(n *jobs.New) { n.Capabilities = []string{"engine:codex"} })
	dbfactory.Readable(t, d.DB)
	s := d.Stream(t, d.Listen(t)+d.LiveURL("/board"), "")
	needs := []string{"engine:claude"}
	if _, err := d.Jobs.Patch(t.Context(), d.Owner, j.Key, jobs.Patch{Version: j.Version, Spec: jobs.Spec{Capabilities: needs},
		Set: []string{"capabilities"}}); err != nil {
		t.Fatal(err)
	}
	s.Until(`id="nav-needs-n" data-count=""`)
}
