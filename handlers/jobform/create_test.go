package jobform_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

func TestNewJobForm(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/jobs/new"), http.StatusOK)
	handlertest.WantText(t, doc, "#job-form", "No factory is live.")
	handlertest.WantCount(t, doc, fmt.Sprintf("input[name=title][maxlength='%d']", jobs.MaxTitle), 1)
	handlertest.WantCount(t, doc, fmt.Sprintf("textarea[name=body][maxlength='%d']", jobs.MaxBody), 1)
	d.Agent("claude-1")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/new?title=Alpha"), http.StatusOK), "#repo option[selected]", "ledger-api")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/new?factory=other"), http.StatusOK), "#repo option[selected]", "No repo")
	doc = handlertest.Page(t, d.Get("/jobs/new?repo=gone&engine=claude"), http.StatusOK)
	handlertest.WantText(t, doc, "#repo", "No repoledger-api")
	handlertest.WantText(t, doc, "#repo option[selected]", "gone, not live now")
	handlertest.WantText(t, doc, ".seg", "1 factory, 2 seats free")
	handlertest.WantCount(t, doc, "input[name=engine][value=claude][checked]", 1)
	handlertest.WantCount(t, doc, "input[name=capabilities][value='has:git']", 1)
	handlertest.WantCount(t, doc, "input[name=capabilities][value^='repo:'], input[name=capabilities][value^='engine:']", 0)
	if _, ok := ids.Parse(doc.Find("input[name=idempotency_key]").AttrOr("value", "")); !ok {
		t.Error("the form has no idempotency key")
	}
}

func TestCreateAJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	first := d.Job("First")
	handlertest.WantRedirect(t, d.Post("/jobs", handlertest.Filled(url.Values{"repo": {"ledger-api"}, "engine": {"claude"}, "capabilities": {"has:git"},
		"priority": {"8"}, "phase": {"M2"}, "depends_on": {first.Key + ", "}, "estimated_minutes": {"25"},
		"review_required": {"yes"}, "not_before": {"2099-01-31T18:00"}})), "/jobs/FB-2")
	j, err := d.Jobs.Get(t.Context(), d.Owner, "FB-2")
	if err != nil {
		t.Fatal(err)
	}
	if j.Repo != "ledger-api" || j.Priority != 8 || j.Phase != "M2" || j.Body != "Make it so" || *j.EstimatedMinutes != 25 ||
		!j.ReviewRequired || j.NotBefore.Format("2006-01-02 15:04") != "2099-01-31 18:00" ||
		web.JoinAnd(j.Capabilities) != "engine:claude and has:git" || web.JoinAnd(j.DependsOn) != "FB-1" || web.JoinAnd(j.Acceptance) != "It is so" {
		t.Errorf("made %+v", j)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "FB-2 created")
	handlertest.WantText(t, doc, "#toasts", "Waits for FB-1.")
}

func TestAJobThatNobodyCanRunIsMadeAndSaysSo(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	handlertest.WantRedirect(t, d.Post("/jobs", handlertest.Filled(url.Values{"engine": {"codex"}})), "/jobs/FB-1")
	doc := handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "No live factory offers engine:codex. Nearest miss: factory-of-claude-1.")
	handlertest.WantText(t, doc, "#why", "No live factory can run FB-1")
}

func TestCreateAndWriteAnother(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantRedirect(t, d.Post("/jobs", handlertest.Filled(url.Values{"again": {"1"}})), "/jobs/new")
	doc := handlertest.Page(t, d.Get("/jobs/new"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "FB-1 created")
	handlertest.WantCount(t, doc, "#toasts a[href='/jobs/FB-1']", 1)
	if title := doc.Find("#title").AttrOr("value", ""); title != "" {
		t.Errorf("the next form begins with the title %q", title)
	}
}

func TestDoubleSubmitIsOneJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	in := handlertest.Filled(nil)
	for range 2 {
		handlertest.WantRedirect(t, d.Post("/jobs", in), "/jobs/FB-1")
	}
	in.Set("again", "1") // the other button is the same job, too
	handlertest.WantRedirect(t, d.Post("/jobs", in), "/jobs/new")
	list, _, err := d.Jobs.List(t.Context(), d.Owner, jobs.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
	// Another job under the same key: the form comes back with a fresh key.
	in.Set("title", "Beta")
	doc := handlertest.Page(t, d.Post("/jobs", in), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#job-form", "already made a job with other values")
	key := doc.Find("input[name=idempotency_key]").AttrOr("value", "")
	if key == in.Get("idempotency_key") {
		t.Error("the key is the used one")
	}
	in.Set("idempotency_key", key)
	in.Del("again")
	handlertest.WantRedirect(t, d.Post("/jobs", in), "/jobs/FB-2")
	// A key that no form of ours had makes no two requests the same.
	in.Set("idempotency_key", "guess")
	handlertest.WantRedirect(t, d.Post("/jobs", in), "/jobs/FB-3")
	handlertest.WantRedirect(t, d.Post("/jobs", in), "/jobs/FB-4")
}

func TestRefusedFormKeepsWhatWasTyped(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Post("/jobs", handlertest.Filled(url.Values{"title": {""}, "body": {"Keep <me>"}, "priority": {"11"}, "repo": {"gone"},
		"capabilities": {"gpu:a100"}, "acceptance": {"one", "two"}, "engine": {"codex"}, "estimated_minutes": {"soon"}})), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#title-e", "A job needs a title.")
	handlertest.WantText(t, doc, "#priority-e", "A whole number from 0 to 10.")
	handlertest.WantText(t, doc, "#estimated_minutes-e", "A whole number from 1")
	handlertest.WantText(t, doc, "#job-form", "The job was not created. 3 fields need another value; your text is kept.")
	handlertest.WantText(t, doc, "#body", "Keep <me>")
	handlertest.WantText(t, doc, "#repo option[selected]", "gone")
	handlertest.WantCount(t, doc, "input[name=capabilities][value='gpu:a100'][checked]", 1)
	handlertest.WantCount(t, doc, "input[name=engine][value=codex][checked]", 1)
	handlertest.WantCount(t, doc, "#criteria input[value=two]", 1)
	if p := doc.Find("#priority").AttrOr("value", ""); p != "11" {
		t.Errorf("priority became %q", p)
	}
	// What only the domain knows comes back at its field, too.
	doc = handlertest.Page(t, d.Post("/jobs", handlertest.Filled(url.Values{"depends_on": {"FB-404"}})), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#depends_on-e", "There is no job FB-404.")
	handlertest.WantCount(t, doc, "input[name=depends_on][value='FB-404'][checked]", 1)
	doc = handlertest.Page(t, d.Post("/jobs", handlertest.Filled(url.Values{"product": {"nothing"}, "capabilities": {"BAD token"}})), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#capabilities-e", "It must be a capability")
	list, _, err := d.Jobs.List(t.Context(), d.Owner, jobs.Filter{})
	if err != nil || len(list) != 0 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
}

func TestRoutabilityAndPreviewFragments(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	d.Job("Reaper work")
	doc := handlertest.Page(t, d.Get("/jobs/new/routability?repo=ledger-api&engine=claude&capabilities=has:git&depends_on=FB-1"), http.StatusOK)
	handlertest.WantText(t, doc, "#routability", "1 of 1 factory can run this")
	handlertest.WantText(t, doc, "#routability", "Holds ledger-api. 1 agent idle: claude-1.")
	handlertest.WantText(t, doc, "#routability", "It waits first for FB-1.")
	doc = handlertest.Page(t, d.Get("/jobs/new/routability?engine=codex"), http.StatusOK)
	handlertest.WantText(t, doc, "#routability", "No live factory can run this")
	handlertest.WantText(t, doc, "#routability .chip-bad", "engine:codex")
	doc = handlertest.Page(t, d.Post("/jobs/new/preview", url.Values{"body": {"**b** <script>x</script>"}}), http.StatusOK)
	handlertest.WantText(t, doc, "strong", "b")
	handlertest.WantCount(t, doc, "script", 0)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/search?q=reaper"), http.StatusOK), "input[name=depends_on][value='FB-1']", 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/search?q=zzz"), http.StatusOK), "p", "No open job matches")
}
