package jobform_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/web"
)

// The files that a job means to change are written one a line, in a new job and in one that is there.
func TestFilesOfAJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	handlertest.WantRedirect(t, d.Post("/jobs", handlertest.Filled(url.Values{"repo": {"ledger-api"},
		"files": {" internal/db/** \r\n\r\ngo.mod\r\ngo.mod\r\n!vendor/**"}})), "/jobs/FB-1")
	j, err := d.Jobs.Get(t.Context(), d.Owner, "FB-1")
	if err != nil || strings.Join(j.Files, " ") != "!vendor/** go.mod internal/db/**" {
		t.Fatalf("made %q, %v", j.Files, err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/edit"), http.StatusOK)
	if got := doc.Find("textarea#files").Text(); got != "!vendor/**\ngo.mod\ninternal/db/**" {
		t.Errorf("the form has %q", got)
	}
	handlertest.WantRedirect(t, d.Post("/jobs/FB-1/edit", sent(doc, nil)), "/jobs/FB-1")
	if now := d.Now(j); web.JoinAnd(now.Files) != web.JoinAnd(j.Files) {
		t.Errorf("an edit without changes made %q", now.Files)
	}
	handlertest.WantRedirect(t, d.Post("/jobs/FB-1/edit", opened(t, d, "/jobs/FB-1/edit", url.Values{"files": {"docs/*.md"}})), "/jobs/FB-1")
	if now := d.Now(j); web.JoinAnd(now.Files) != "docs/*.md" {
		t.Errorf("edited to %q", now.Files)
	}
	doc = handlertest.Page(t, d.Post("/jobs/FB-1/edit", opened(t, d, "/jobs/FB-1/edit", url.Values{"files": {"docs/*.md\n../x"}})),
		http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#files-e", "inside the repository")
	if got := doc.Find("textarea#files").Text(); got != "docs/*.md\n../x" {
		t.Errorf("the refused form has %q", got)
	}
	doc = handlertest.Page(t, d.Post("/jobs", handlertest.Filled(url.Values{"files": {manyFiles(101)}})),
		http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#files-e", "at most 100")
}

func manyFiles(n int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString("f/" + strings.Repeat("x", i+1) + "\n")
	}
	return text.String()
}
