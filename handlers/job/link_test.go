package job_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A link is added and removed from either side's page, which then shows it.
func TestLinksAreAddedAndRemovedOnTheJobPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	one := d.Job("First things")
	two := d.Job("Second things")
	add := func(kind, other string) handlertest.Answer {
		return d.Hx("/jobs/FB-2", "/jobs/FB-2/link", url.Values{"kind": {kind}, "other": {other}})
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK), "#links svg.graph", 0)
	doc := handlertest.Page(t, add("blocks", "FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, ".toastx", "FB-2 waits for FB-1.")
	handlertest.WantCount(t, doc, `#job-panel #links svg.graph a[href="/jobs/FB-1"]`, 1)
	handlertest.WantText(t, doc, "#link-blocks-FB-1", "waits for")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#link-blocks-by-FB-2", "is waited for by")
	if now := d.Now(two); now.Status != jobs.Waiting {
		t.Errorf("FB-2 is %s", now.Status)
	}
	// From the other job's page it is the same link.
	row := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK).Find("#link-blocks-by-FB-2 form")
	doc = handlertest.Page(t, d.Hx("/jobs/FB-1", row.AttrOr("action", ""), url.Values{
		"other": {row.Find("[name=other]").AttrOr("value", "")}, "type": {row.Find("[name=type]").AttrOr("value", "")}}), http.StatusOK)
	handlertest.WantText(t, doc, ".toastx", "FB-2 no longer waits for FB-1.")
	handlertest.WantText(t, doc, "#job-panel h1", "First things")
	if now := d.Now(two); now.Status != jobs.Ready {
		t.Errorf("FB-2 is %s", now.Status)
	}
	// And the other way round, by a choice among those found.
	doc = handlertest.Page(t, d.Hx("/jobs/FB-2", "/jobs/FB-2/link", url.Values{"kind": {"blocks-by"}, "other": {"first"}, "chosen": {"FB-1"}}), http.StatusOK)
	handlertest.WantText(t, doc, "#link-blocks-by-FB-1", "is waited for by")
	if now := d.Now(one); now.Status != jobs.Waiting {
		t.Errorf("FB-1 is %s", now.Status)
	}
}

// A part that its whole waits for is linked, shown and removed from either side.
func TestAPartThatHoldsUpItsWholeOnTheJobPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	whole := d.Job("The whole")
	d.Job("A part")
	doc := handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/link", url.Values{"kind": {"held-parent-by"}, "other": {"FB-2"}}), http.StatusOK)
	handlertest.WantText(t, doc, ".toastx", "FB-2 is part of and holds up FB-1.")
	handlertest.WantText(t, doc, "#link-parent-by-FB-2", "waits for its part")
	if now := d.Now(whole); now.Status != jobs.Waiting || now.WaitReason != jobs.WaitDependency {
		t.Errorf("FB-1 is %s for %q", now.Status, now.WaitReason)
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "main", "Waits for FB-2")
	doc = handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK)
	handlertest.WantText(t, doc, "#link-parent-FB-1", "is part of and holds up")
	row := doc.Find("#link-parent-FB-1 form")
	handlertest.Page(t, d.Hx("/jobs/FB-2", row.AttrOr("action", ""), url.Values{
		"other": {row.Find("[name=other]").AttrOr("value", "")}, "type": {row.Find("[name=type]").AttrOr("value", "")}}), http.StatusOK)
	if now := d.Now(whole); now.Status != jobs.Ready {
		t.Errorf("FB-1 is %s", now.Status)
	}
}

// A refused link says why in a sentence, with the path of a circle.
func TestRefusedLinksSayWhy(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("One")
	d.Job("Two", func(n *jobs.New) { n.DependsOn = []string{"FB-1"} })
	add := func(kind, other string, status int) string {
		doc := handlertest.Page(t, d.Hx("/jobs/FB-1", "/jobs/FB-1/link", url.Values{"kind": {kind}, "other": {other}}), status)
		return strings.Join(strings.Fields(doc.Find(".toastx").Text()), " ")
	}
	if text := add("blocks", "FB-2", http.StatusConflict); !strings.Contains(text, "FB-1 → FB-2 → FB-1.") {
		t.Errorf("the circle is refused with %q", text)
	}
	if text := add("blocks", "FB-9", http.StatusNotFound); !strings.Contains(text, "FB-9") {
		t.Errorf("an unknown job is refused with %q", text)
	}
	add("blocks", "", http.StatusUnprocessableEntity)
	add("blocks", "FB-1", http.StatusUnprocessableEntity)
	add("nonsense", "FB-2", http.StatusUnprocessableEntity)
	r := handlertest.Request(http.MethodPost, "/jobs/FB-1/link", url.Values{"kind": {"blocks"}, "other": {"FB-2"}})
	r.Header.Set("Referer", "http://example.com/jobs/FB-1")
	handlertest.WantRedirect(t, d.Do(r), "/jobs/FB-1")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "#toasts", "FB-1 → FB-2 → FB-1.")

	viewer := d.As(tenancy.RoleViewer)
	handlertest.Page(t, viewer.Hx("/jobs/FB-1", "/jobs/FB-1/link", url.Values{"kind": {"parent"}, "other": {"FB-2"}}), http.StatusForbidden)
	doc := handlertest.Page(t, viewer.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantCount(t, doc, "#links form", 0)
	handlertest.WantCount(t, doc, "#links svg.graph", 1)
}

// The search finds finished jobs too, and never the job itself.
func TestJobsAreFoundToLinkWith(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Rotate the key")
	d.Job("Rotate the logs")
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/linkable?other=rotate"), http.StatusOK)
	handlertest.WantText(t, doc, "label", "FB-2 Rotate the logs")
	handlertest.WantCount(t, doc, "input[type=radio][name=chosen]", 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1/linkable?other=nothing"), http.StatusOK), "p", "No job matches")
	if body := handlertest.Read(t, d.Get("/jobs/FB-1/linkable?other="), http.StatusOK); strings.TrimSpace(body) != "" {
		t.Errorf("an empty search shows %q", body)
	}
}
