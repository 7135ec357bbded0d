package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// A link is added and removed from either side's page, which then shows it.
func TestLinksAreAddedAndRemovedOnTheJobPage(t *testing.T) {
	d := newDesk(t)
	one := d.job("First things")
	two := d.job("Second things")
	add := func(kind, other string) answer {
		return d.hx("/jobs/FB-2", "/jobs/FB-2/link", url.Values{"kind": {kind}, "other": {other}})
	}
	wantCount(t, page(t, d.get("/jobs/FB-2"), http.StatusOK), "#links svg.graph", 0)
	doc := page(t, add("blocks", "FB-1"), http.StatusOK)
	wantText(t, doc, ".toastx", "FB-2 waits for FB-1.")
	wantCount(t, doc, `#job-panel #links svg.graph a[href="/jobs/FB-1"]`, 1)
	wantText(t, doc, "#link-blocks-FB-1", "waits for")
	wantText(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "#link-blocks-by-FB-2", "is waited for by")
	if now := d.now(two); now.Status != jobs.Waiting {
		t.Errorf("FB-2 is %s", now.Status)
	}
	// From the other job's page it is the same link.
	row := page(t, d.get("/jobs/FB-1"), http.StatusOK).Find("#link-blocks-by-FB-2 form")
	doc = page(t, d.hx("/jobs/FB-1", row.AttrOr("action", ""), url.Values{
		"other": {row.Find("[name=other]").AttrOr("value", "")}, "type": {row.Find("[name=type]").AttrOr("value", "")}}), http.StatusOK)
	wantText(t, doc, ".toastx", "FB-2 no longer waits for FB-1.")
	wantText(t, doc, "#job-panel h1", "First things")
	if now := d.now(two); now.Status != jobs.Ready {
		t.Errorf("FB-2 is %s", now.Status)
	}
	// And the other way round, by a choice among those found.
	doc = page(t, d.hx("/jobs/FB-2", "/jobs/FB-2/link", url.Values{"kind": {"blocks-by"}, "other": {"first"}, "chosen": {"FB-1"}}), http.StatusOK)
	wantText(t, doc, "#link-blocks-by-FB-1", "is waited for by")
	if now := d.now(one); now.Status != jobs.Waiting {
		t.Errorf("FB-1 is %s", now.Status)
	}
}

// A part that its whole waits for is linked, shown and removed from either side.
func TestAPartThatHoldsUpItsWholeOnTheJobPage(t *testing.T) {
	d := newDesk(t)
	whole := d.job("The whole")
	d.job("A part")
	doc := page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/link", url.Values{"kind": {"held-parent-by"}, "other": {"FB-2"}}), http.StatusOK)
	wantText(t, doc, ".toastx", "FB-2 is part of and holds up FB-1.")
	wantText(t, doc, "#link-parent-by-FB-2", "waits for its part")
	if now := d.now(whole); now.Status != jobs.Waiting || now.WaitReason != jobs.WaitDependency {
		t.Errorf("FB-1 is %s for %q", now.Status, now.WaitReason)
	}
	wantText(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "main", "Waits for FB-2")
	doc = page(t, d.get("/jobs/FB-2"), http.StatusOK)
	wantText(t, doc, "#link-parent-FB-1", "is part of and holds up")
	row := doc.Find("#link-parent-FB-1 form")
	page(t, d.hx("/jobs/FB-2", row.AttrOr("action", ""), url.Values{
		"other": {row.Find("[name=other]").AttrOr("value", "")}, "type": {row.Find("[name=type]").AttrOr("value", "")}}), http.StatusOK)
	if now := d.now(whole); now.Status != jobs.Ready {
		t.Errorf("FB-1 is %s", now.Status)
	}
}

// A refused link says why in a sentence, with the path of a circle.
func TestRefusedLinksSayWhy(t *testing.T) {
	d := newDesk(t)
	d.job("One")
	d.job("Two", func(n *jobs.New) { n.DependsOn = []string{"FB-1"} })
	add := func(kind, other string, status int) string {
		doc := page(t, d.hx("/jobs/FB-1", "/jobs/FB-1/link", url.Values{"kind": {kind}, "other": {other}}), status)
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
	r := request(http.MethodPost, "/jobs/FB-1/link", url.Values{"kind": {"blocks"}, "other": {"FB-2"}})
	r.Header.Set("Referer", "http://example.com/jobs/FB-1")
	wantRedirect(t, d.do(r), "/jobs/FB-1")
	wantText(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "#toasts", "FB-1 → FB-2 → FB-1.")

	viewer := d.as(tenancy.RoleViewer)
	page(t, viewer.hx("/jobs/FB-1", "/jobs/FB-1/link", url.Values{"kind": {"parent"}, "other": {"FB-2"}}), http.StatusForbidden)
	doc := page(t, viewer.get("/jobs/FB-1"), http.StatusOK)
	wantCount(t, doc, "#links form", 0)
	wantCount(t, doc, "#links svg.graph", 1)
}

// The search finds finished jobs too, and never the job itself.
func TestJobsAreFoundToLinkWith(t *testing.T) {
	d := newDesk(t)
	d.job("Rotate the key")
	d.job("Rotate the logs")
	doc := page(t, d.get("/jobs/FB-1/linkable?other=rotate"), http.StatusOK)
	wantText(t, doc, "label", "FB-2 Rotate the logs")
	wantCount(t, doc, "input[type=radio][name=chosen]", 1)
	wantText(t, page(t, d.get("/jobs/FB-1/linkable?other=nothing"), http.StatusOK), "p", "No job matches")
	if body := read(t, d.get("/jobs/FB-1/linkable?other="), http.StatusOK); strings.TrimSpace(body) != "" {
		t.Errorf("an empty search shows %q", body)
	}
}
