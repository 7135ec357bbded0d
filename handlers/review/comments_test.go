package review_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
)

const twoFiles = `{"diff": "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\ndiff --git a/b.go b/b.go\n--- a/b.go\n+++ b/b.go\n@@ -1 +1 @@\n-x\n+y\n"}`

// A comment stands below its line, open ones are counted, and a resolved one says by whom; what is no line of the page
// stands apart.
func TestCommentsStandBelowTheirLines(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.HandIn(d.Agent("ada"), "Work", report.Completion{Commit: "9be04d1f00", Result: json.RawMessage(twoFiles)})
	page := func() *goquery.Document { return handlertest.Page(t, d.Get("/review?job=FB-1"), http.StatusOK) }
	doc := page()
	handlertest.WantCount(t, doc, "#dlg-comment select[name=path] option", 2)
	handlertest.WantCount(t, doc, "#do-comment[data-key=m]", 1)
	handlertest.WantCount(t, doc, `.hunk[data-path="a.go"] td[data-line="3"][data-side=new]`, 1)
	handlertest.WantCount(t, doc, ".cm.no-js textarea[name=text]", 1) // without script
	say := func(more url.Values) handlertest.Answer {
		in := url.Values{"commit": {"9be04d1f00"}, "path": {"a.go"}, "side": {"new"}, "line": {"3"}, "text": {"Why <b>?"}}
		for name, value := range more {
			in[name] = value
		}
		return d.Post("/review/FB-1/comments", in)
	}
	seeOther(t, say(nil))
	seeOther(t, say(url.Values{"line": {"2"}, "side": {"old"}, "text": {"Keep it"}}))
	seeOther(t, say(url.Values{"line": {""}, "path": {"b.go"}, "text": {"The whole of it"}}))
	doc = page()
	handlertest.WantText(t, doc, "#changes .d-a + .d-t", "Why <b>?")
	handlertest.WantText(t, doc, "#changes .d-d + .d-t", "Keep it")
	handlertest.WantText(t, doc, "#review-comments", "3 open")
	handlertest.WantText(t, doc, "#review-comments .cm", "The whole of it")
	first := dbfactory.Text(t, d.DB, `SELECT id::text FROM job_comment WHERE text = 'Keep it'`)
	seeOther(t, say(url.Values{"in_reply_to": {first}, "text": {"Done, see above"}}))
	seeOther(t, d.Post("/review/FB-1/comments/"+first, url.Values{"resolved": {"true"}}))
	doc = page()
	handlertest.WantText(t, doc, "#comment-"+first, "Resolved by")
	handlertest.WantText(t, doc, "#comment-"+first, "Done, see above")
	handlertest.WantText(t, doc, "#comment-"+first, "Reopen")
	handlertest.WantText(t, doc, "#review-comments", "2 open")
	for _, wrong := range []url.Values{{"line": {"x"}}, {"line": {"-3"}}, {"text": {" "}}, {"text": {strings.Repeat("x", 2001)}}, {"path": {"z"}}, {"side": {"left"}},
		{"commit": {"other"}}} {
		seeOther(t, say(wrong))
		handlertest.WantText(t, page(), "#toasts", "The comment was not made")
	}
	if n := dbfactory.Int(t, d.DB, `SELECT count(*) FROM job_comment`); n != 4 {
		t.Errorf("there are %d comments", n)
	}
	seeOther(t, d.Decide(t, "FB-1", "reject", url.Values{"reason": {"See the comments"}}))
	if s := dbfactory.Text(t, d.DB, `SELECT status FROM job`); s != "ready" {
		t.Errorf("it is %s", s)
	}
}

// seeOther wants an answer that leads on.
func seeOther(t *testing.T, a handlertest.Answer) {
	t.Helper()
	if a.StatusCode != http.StatusSeeOther {
		t.Fatalf("it is answered with %d", a.StatusCode)
	}
}
