package handlers

import (
	"net/http"
	"net/url"
	"testing"

	"fleetboard/handlers/web"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// filled is a form as a browser sends it.
func filled(change url.Values) url.Values {
	in := url.Values{
		"idempotency_key": {ids.New().String()}, "title": {"Alpha"}, "body": {"Make it so"}, "repo": {""}, "factory": {""},
		"engine": {""}, "priority": {"5"}, "max_retries": {"3"}, "phase": {""}, "product": {""}, "review_required": {"inherit"},
		"acceptance": {"It is so", ""}, "depends_on": {""}, "estimated_minutes": {""}, "not_before": {""},
	}
	for name, values := range change {
		in[name] = values
	}
	return in
}

func TestNewJobForm(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/jobs/new"), http.StatusOK)
	wantText(t, doc, "#job-form", "No factory is live.")
	d.agent("claude-1")
	doc = page(t, d.get("/jobs/new?repo=gone&engine=claude"), http.StatusOK)
	wantText(t, doc, "#repo", "No repoledger-api")
	wantText(t, doc, "#repo option[selected]", "gone, not live now")
	wantText(t, doc, ".seg", "1 factory, 2 seats free")
	wantCount(t, doc, "input[name=engine][value=claude][checked]", 1)
	wantCount(t, doc, "input[name=capabilities][value='has:git']", 1)
	wantCount(t, doc, "input[name=capabilities][value^='repo:'], input[name=capabilities][value^='engine:']", 0)
	if _, ok := ids.Parse(doc.Find("input[name=idempotency_key]").AttrOr("value", "")); !ok {
		t.Error("the form has no idempotency key")
	}
}

func TestCreateAJob(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	first := d.job("First")
	wantRedirect(t, d.post("/jobs", filled(url.Values{"repo": {"ledger-api"}, "engine": {"claude"}, "capabilities": {"has:git"},
		"priority": {"8"}, "phase": {"M2"}, "depends_on": {first.Key + ", "}, "estimated_minutes": {"25"},
		"review_required": {"yes"}, "not_before": {"2099-01-31T18:00"}})), "/jobs/FB-2")
	j, err := d.Jobs.Get(t.Context(), d.owner, "FB-2")
	if err != nil {
		t.Fatal(err)
	}
	if j.Repo != "ledger-api" || j.Priority != 8 || j.Phase != "M2" || j.Body != "Make it so" || *j.EstimatedMinutes != 25 ||
		!j.ReviewRequired || j.NotBefore.Format("2006-01-02 15:04") != "2099-01-31 18:00" ||
		web.And(j.Capabilities) != "engine:claude and has:git" || web.And(j.DependsOn) != "FB-1" || web.And(j.Acceptance) != "It is so" {
		t.Errorf("made %+v", j)
	}
	doc := page(t, d.get("/jobs/FB-2"), http.StatusOK)
	wantText(t, doc, "#toasts", "FB-2 created")
	wantText(t, doc, "#toasts", "Waits for FB-1.")
}

func TestAJobThatNobodyCanRunIsMadeAndSaysSo(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	wantRedirect(t, d.post("/jobs", filled(url.Values{"engine": {"codex"}})), "/jobs/FB-1")
	doc := page(t, d.get("/jobs/FB-1"), http.StatusOK)
	wantText(t, doc, "#toasts", "No live factory offers engine:codex. Nearest miss: factory-of-claude-1.")
	wantText(t, doc, "#why", "No live factory can run FB-1")
}

func TestCreateAndWriteAnother(t *testing.T) {
	d := newDesk(t)
	wantRedirect(t, d.post("/jobs", filled(url.Values{"again": {"1"}})), "/jobs/new")
	doc := page(t, d.get("/jobs/new"), http.StatusOK)
	wantText(t, doc, "#toasts", "FB-1 created")
	wantCount(t, doc, "#toasts a[href='/jobs/FB-1']", 1)
	if title := doc.Find("#title").AttrOr("value", ""); title != "" {
		t.Errorf("the next form begins with the title %q", title)
	}
}

func TestDoubleSubmitIsOneJob(t *testing.T) {
	d := newDesk(t)
	in := filled(nil)
	for range 2 {
		wantRedirect(t, d.post("/jobs", in), "/jobs/FB-1")
	}
	in.Set("again", "1") // the other button is the same job, too
	wantRedirect(t, d.post("/jobs", in), "/jobs/new")
	list, _, err := d.Jobs.List(t.Context(), d.owner, jobs.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
	// Another job under the same key: the form comes back with a fresh key.
	in.Set("title", "Beta")
	doc := page(t, d.post("/jobs", in), http.StatusUnprocessableEntity)
	wantText(t, doc, "#job-form", "already made a job with other values")
	key := doc.Find("input[name=idempotency_key]").AttrOr("value", "")
	if key == in.Get("idempotency_key") {
		t.Error("the key is the used one")
	}
	in.Set("idempotency_key", key)
	in.Del("again")
	wantRedirect(t, d.post("/jobs", in), "/jobs/FB-2")
}

func TestRefusedFormKeepsWhatWasTyped(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.post("/jobs", filled(url.Values{"title": {""}, "body": {"Keep <me>"}, "priority": {"11"}, "repo": {"gone"},
		"capabilities": {"gpu:a100"}, "acceptance": {"one", "two"}, "engine": {"codex"}, "estimated_minutes": {"soon"}})), http.StatusUnprocessableEntity)
	wantText(t, doc, "#title-e", "A job needs a title.")
	wantText(t, doc, "#priority-e", "A whole number from 0 to 10.")
	wantText(t, doc, "#estimated_minutes-e", "A whole number from 1")
	wantText(t, doc, "#job-form", "The job was not created. 3 fields need another value; your text is kept.")
	wantText(t, doc, "#body", "Keep <me>")
	wantText(t, doc, "#repo option[selected]", "gone")
	wantCount(t, doc, "input[name=capabilities][value='gpu:a100'][checked]", 1)
	wantCount(t, doc, "input[name=engine][value=codex][checked]", 1)
	wantCount(t, doc, "#criteria input[value=two]", 1)
	if p := doc.Find("#priority").AttrOr("value", ""); p != "11" {
		t.Errorf("priority became %q", p)
	}
	// What only the domain knows comes back at its field, too.
	doc = page(t, d.post("/jobs", filled(url.Values{"depends_on": {"FB-404"}})), http.StatusUnprocessableEntity)
	wantText(t, doc, "#depends_on-e", "There is no job FB-404.")
	wantCount(t, doc, "input[name=depends_on][value='FB-404'][checked]", 1)
	doc = page(t, d.post("/jobs", filled(url.Values{"product": {"nothing"}, "capabilities": {"BAD token"}})), http.StatusUnprocessableEntity)
	wantText(t, doc, "#capabilities-e", "It must be a capability")
	list, _, err := d.Jobs.List(t.Context(), d.owner, jobs.Filter{})
	if err != nil || len(list) != 0 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
}

func TestRoutabilityAndPreviewFragments(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	d.job("Reaper work")
	doc := page(t, d.get("/jobs/new/routability?repo=ledger-api&engine=claude&capabilities=has:git&depends_on=FB-1"), http.StatusOK)
	wantText(t, doc, "#routability", "1 of 1 factory can run this")
	wantText(t, doc, "#routability", "Holds ledger-api. 1 agent idle: claude-1.")
	wantText(t, doc, "#routability", "It waits first for FB-1.")
	doc = page(t, d.get("/jobs/new/routability?engine=codex"), http.StatusOK)
	wantText(t, doc, "#routability", "No live factory can run this")
	wantText(t, doc, "#routability .chip-bad", "engine:codex")
	doc = page(t, d.post("/jobs/new/preview", url.Values{"body": {"**b** <script>x</script>"}}), http.StatusOK)
	wantText(t, doc, "strong", "b")
	wantCount(t, doc, "script", 0)
	wantCount(t, page(t, d.get("/jobs/search?q=reaper"), http.StatusOK), "input[name=depends_on][value='FB-1']", 1)
	wantText(t, page(t, d.get("/jobs/search?q=zzz"), http.StatusOK), "p", "No open job matches")
}
