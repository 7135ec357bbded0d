package jobform_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// opened returns the form at a path as a browser would send it, with some fields changed.
func opened(t *testing.T, d *handlertest.Workspace, path string, change url.Values) url.Values {
	t.Helper()
	return sent(handlertest.Page(t, d.Get(path), http.StatusOK), change)
}

// sent returns the form of a page as a browser would send it, with some fields changed.
func sent(doc *goquery.Document, change url.Values) url.Values {
	in := url.Values{}
	doc.Find("#job-form [name]:not([disabled]):not(button)").Each(func(_ int, field *goquery.Selection) {
		name, value := field.AttrOr("name", ""), field.AttrOr("value", "")
		kind := field.AttrOr("type", "")
		_, checked := field.Attr("checked")
		switch {
		case goquery.NodeName(field) == "select":
			value = field.Find("option[selected]").AttrOr("value", "")
		case goquery.NodeName(field) == "textarea":
			value = field.Text()
		case (kind == "radio" || kind == "checkbox") && !checked:
			return
		}
		in.Add(name, value)
	})
	for name, values := range change {
		in[name] = values
	}
	return in
}

func TestAnEditChangesWhatWasTypedAndNothingElse(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	first := d.Job("First")
	yes := true
	j := d.Job("Second", func(n *jobs.New) {
		n.Body, n.Repo, n.Capabilities, n.Acceptance = "Line one\nline two", "ledger-api", []string{"engine:claude", "has:git"}, []string{"It works"}
		n.Tags, n.ReviewOverride, n.Phase = []string{"api", "slow"}, &yes, "M1"
	})
	doc := handlertest.Page(t, d.Get("/jobs/FB-2/edit"), http.StatusOK)
	handlertest.WantText(t, doc, "#body", "Line one line two")
	handlertest.WantText(t, doc, "#repo option[selected]", "ledger-api")
	handlertest.WantCount(t, doc, "input[name=engine][value=claude][checked]", 1)
	handlertest.WantCount(t, doc, "#tags[value='api, slow']", 1)
	handlertest.WantCount(t, doc, "#product[disabled]", 1)

	handlertest.WantRedirect(t, d.Post("/jobs/FB-2/edit", sent(doc, nil)), "/jobs/FB-2")
	if now := d.Now(j); now.Title != j.Title || now.Body != j.Body || web.JoinAnd(now.Capabilities) != web.JoinAnd(j.Capabilities) || now.Phase != "M1" {
		t.Errorf("an edit without changes made %+v", now)
	}
	handlertest.WantRedirect(t, d.Post("/jobs/FB-2/edit", opened(t, d, "/jobs/FB-2/edit", url.Values{"title": {"Renamed"},
		"body": {"Line one\r\nline two"}, "engine": {""}, "priority": {"8"}, "max_retries": {"7"}, "review_required": {"inherit"}, "phase": {""},
		"depends_on": {first.Key, ""}, "token_budget": {"5000"}, "tags": {"api"}, "estimated_minutes": {"25"},
		"budget_usd": {"$12.50"}, "complexity": {"4"}, "tier": {"large"}})), "/jobs/FB-2")
	now := d.Now(j)
	got := []any{now.Title, now.Body, now.Capabilities, now.Priority, now.MaxRetries, now.ReviewOverride, now.Phase, now.DependsOn,
		*now.TokenBudget, *now.BudgetNanos, *now.Complexity, now.Tier, now.Tags, *now.EstimatedMinutes, now.Repo, now.Acceptance}
	want := []any{"Renamed", j.Body, []string{"has:git"}, 8, 7, (*bool)(nil), "", []string{first.Key},
		int64(5000), int64(12_500_000_000), 4, jobs.TierLarge, []string{"api"}, 25, "ledger-api", []string{"It works"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("edited (-want +got):\n%s", diff)
	}
	doc = handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "FB-2 saved")
	handlertest.WantText(t, doc, "#toasts", "Waits for FB-1.")
	handlertest.WantRedirect(t, d.Post("/jobs/FB-2/edit", opened(t, d, "/jobs/FB-2/edit", url.Values{"token_budget": {""},
		"budget_usd": {""}, "complexity": {""}, "tier": {""},
		"estimated_minutes": {""}, "depends_on": {""}})), "/jobs/FB-2")
	if now := d.Now(j); now.TokenBudget != nil || now.BudgetNanos != nil || now.Complexity != nil || now.Tier != "" || now.EstimatedMinutes != nil || len(now.DependsOn) != 0 || now.Status != jobs.Ready {
		t.Errorf("cleared %+v", now)
	}
}

// An amount with a comma is refused: nobody can know whether it parts cents.
func TestAmountsAreDecimal(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("One")
	for _, amount := range []string{"12,50", "free", "0", "-1", "1e-12"} {
		doc := handlertest.Page(t, d.Post("/jobs/FB-1/edit", opened(t, d, "/jobs/FB-1/edit", url.Values{"budget_usd": {amount}})), http.StatusUnprocessableEntity)
		handlertest.WantText(t, doc, "#budget_usd-e", "An amount of dollars like 12.50, more than 0.")
	}
	doc := handlertest.Page(t, d.Post("/jobs/FB-1/edit", opened(t, d, "/jobs/FB-1/edit", url.Values{"tier": {"huge"}})), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#tier-e", "small, standard or large")
}

func TestARefusedEditKeepsWhatWasTyped(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	d.Job("First")
	doc := handlertest.Page(t, d.Post("/jobs/FB-1/edit", opened(t, d, "/jobs/FB-1/edit", url.Values{"title": {" "}, "priority": {"12"}, "body": {"Keep me"}})),
		http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#title-e", "A job needs a title.")
	handlertest.WantText(t, doc, "[data-form-error]", "FB-1 was not saved. 2 fields need another value; your text is kept.")
	handlertest.WantText(t, doc, "[data-form-error] a[href='#priority']", "Priority")
	handlertest.WantText(t, doc, "#body", "Keep me")
	for field, values := range map[string][]string{"depends_on": {"FB-404"}, "repo": {"ledger-api"}} {
		doc = handlertest.Page(t, d.Post("/jobs/FB-1/edit", opened(t, d, "/jobs/FB-1/edit", url.Values{field: values})), http.StatusUnprocessableEntity)
		handlertest.WantCount(t, doc, "#"+field+"-e", 1)
	}
	handlertest.WantStatus(t, d.Get("/jobs/FB-404/edit"), http.StatusNotFound)
	handlertest.WantStatus(t, d.As(tenancy.RoleViewer).Get("/jobs/FB-1/edit"), http.StatusForbidden)
}

// Where somebody else has changed the same fields meanwhile, the form says who and what,
// and is saved over that only knowingly.
func TestAnEditOfAChangedJobSaysWhoChangedWhat(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("First")
	mine := opened(t, d, "/jobs/FB-1/edit", url.Values{"title": {"Mine"}, "priority": {"3"}})
	title, seven, phase := "Theirs", 7, "M2"
	if _, err := d.Jobs.Patch(t.Context(), d.Owner, j.Key, jobs.Patch{Version: j.Version, Spec: jobs.Spec{Title: title, Priority: seven,
		Phase: phase}, Set: []string{"title", "priority", "phase"}}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Post("/jobs/FB-1/edit", mine), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "[data-form-error]", "FB-1 was changed while you edited it. Nothing was saved yet")
	handlertest.WantText(t, doc, "#changed-priority", "Priority is now 7, changed by "+d.Owner.Name+". Yours is still in the form.")
	handlertest.WantText(t, doc, "#changed-phase", "Phase is now M2, changed by "+d.Owner.Name+". The form has it.")
	handlertest.WantText(t, doc, "button.btn-primary", "Save over it")
	if now := d.Now(j); now.Title != "Theirs" {
		t.Fatalf("it was saved: %+v", now)
	}
	back := sent(doc, nil)
	if back.Get("title") != "Mine" || back.Get("priority") != "3" || back.Get("phase") != "M2" {
		t.Fatalf("the form became %v", back)
	}
	back.Set("take", "priority")
	doc = handlertest.Page(t, d.Post("/jobs/FB-1/edit", back), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#changed-priority", "The form has it.")
	handlertest.WantText(t, doc, "#changed-title", "Yours is still in the form.")
	handlertest.WantRedirect(t, d.Post("/jobs/FB-1/edit", sent(doc, nil)), "/jobs/FB-1")
	if now := d.Now(j); now.Title != "Mine" || now.Priority != 7 || now.Phase != "M2" {
		t.Errorf("saved over it: %q, priority %d, phase %q", now.Title, now.Priority, now.Phase)
	}
}

// What a form does not show is no reason to return it; what an agent works on is.
func TestAnEditMeetsAClaim(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("First")
	words := opened(t, d, "/jobs/FB-1/edit", url.Values{"title": {"Renamed"}})
	asks := opened(t, d, "/jobs/FB-1/edit", url.Values{"title": {"Again"}, "capabilities": {"gpu:h100"}})
	d.Claim(d.Agent("claude-1"))
	handlertest.WantRedirect(t, d.Post("/jobs/FB-1/edit", words), "/jobs/FB-1")
	if now := d.Now(j); now.Title != "Renamed" || now.Status != jobs.Assigned {
		t.Errorf("%q, %s", now.Title, now.Status)
	}
	doc := handlertest.Page(t, d.Post("/jobs/FB-1/edit", asks), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#changed-capabilities", "Capabilities can no longer change; what you chose there is not saved.")
	handlertest.WantText(t, doc, "#where-h", "claude-1 works on it; this part can change once nobody does.")
	handlertest.WantCount(t, doc, "#repo[disabled], #factory[disabled]", 2)
	handlertest.WantText(t, doc, "#routability", "claude-1 works on it now.")
	handlertest.WantRedirect(t, d.Post("/jobs/FB-1/edit", sent(doc, nil)), "/jobs/FB-1")
	if now := d.Now(j); now.Title != "Again" || len(now.Capabilities) != 0 {
		t.Errorf("%q needs %v", now.Title, now.Capabilities)
	}
}

// Whoever retries a failed job with changes sees how it failed; a plain edit does not say it.
func TestARetryShowsTheFailure(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	d.Job("Alpha")
	j := d.Claim(agent)
	if _, err := d.OtherProcess.Fail(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Failure{Error: "exit status 2\nno such table"}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/jobs/FB-1/edit?then=retry"), http.StatusOK)
	handlertest.WantText(t, doc, "#failure", "no such table")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-1/edit"), http.StatusOK), "#failure", 0)
}

func TestRetryWithChanges(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	agent := d.Agent("claude-1")
	first := d.Job("First")
	j := d.Job("Second", func(n *jobs.New) { n.Capabilities = []string{"gpu:h100"} })
	if _, err := d.Dispatch.Act(t.Context(), d.Owner, j.Key, actions.Action{Verb: jobs.ByCancel}); err != nil {
		t.Fatal(err)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK), "#why a[href='/jobs/FB-2/edit?then=retry']", 1)
	doc := handlertest.Page(t, d.Get("/jobs/FB-2/edit?then=retry"), http.StatusOK)
	handlertest.WantText(t, doc, "button.btn-primary", "Save and retry")
	bad := sent(doc, url.Values{"title": {""}})
	doc = handlertest.Page(t, d.Post("/jobs/FB-2/edit?then=retry", bad), http.StatusUnprocessableEntity)
	if d.Now(j).Status != jobs.Aborted {
		t.Fatal("it was retried without its changes")
	}
	good := sent(doc, url.Values{"title": {"Second"}, "capabilities": nil, "depends_on": {first.Key}})
	handlertest.WantRedirect(t, d.Post("/jobs/FB-2/edit?then=retry", good), "/jobs/FB-2")
	if now := d.Now(j); now.Status != jobs.Waiting || len(now.Capabilities) != 0 || web.JoinAnd(now.DependsOn) != "FB-1" {
		t.Errorf("retried: %s, needs %v, waits for %v", now.Status, now.Capabilities, now.DependsOn)
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-2"), http.StatusOK), "#toasts", "FB-2 is tried again")
	// Somebody else has retried it meanwhile: the changes are not lost.
	good.Set("title", "Third")
	doc = handlertest.Page(t, d.Post("/jobs/FB-2/edit?then=retry", good), http.StatusUnprocessableEntity)
	handlertest.WantCount(t, doc, "#title[value=Third]", 1)
	if held := d.Claim(agent); held.Key != first.Key {
		t.Errorf("claimed %s", held.Key)
	}
}

func TestSaveOnlyLeavesAFailedJobFailed(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("First")
	if _, err := d.Dispatch.Act(t.Context(), d.Owner, j.Key, actions.Action{Verb: jobs.ByCancel}); err != nil {
		t.Fatal(err)
	}
	handlertest.WantRedirect(t, d.Post("/jobs/FB-1/edit?then=retry",
		opened(t, d, "/jobs/FB-1/edit?then=retry", url.Values{"title": {"Renamed"}, "only": {"1"}})), "/jobs/FB-1")
	if now := d.Now(j); now.Title != "Renamed" || now.Status != jobs.Aborted {
		t.Errorf("%q is %s", now.Title, now.Status)
	}
}

func TestADuplicateHasAllButSecretsAndHistory(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	first := d.Job("First")
	budget, nanos, hard := int64(9000), int64(1_500_000_001), 5
	d.Job("Second", func(n *jobs.New) {
		n.Body, n.Repo, n.Capabilities, n.Acceptance, n.DependsOn = "Text", "ledger-api", []string{"engine:claude"}, []string{"It works"}, []string{first.Key}
		n.Tags, n.Phase, n.TokenBudget = []string{"api"}, "M1", &budget
		n.BudgetNanos, n.Complexity, n.Tier = &nanos, &hard, jobs.TierSmall
		n.InputContext, n.SecretKeys = []byte(`{"BRANCH":"main","TOKEN":"hush-hush","matrix":{"a":1}}`), []string{"TOKEN"}
	})
	res := d.Get("/jobs/new?from=FB-2")
	if html := res.Body.String(); strings.Contains(html, "hush-hush") {
		t.Fatal("the page has the secret")
	}
	doc := handlertest.Page(t, res, http.StatusOK)
	handlertest.WantText(t, doc, "#copied", "FB-2 has a secret, TOKEN. It is not copied: write it once more.")
	handlertest.WantText(t, doc, "#copied", "Inputs that are not one line of text are not copied: matrix.")
	handlertest.WantRedirect(t, d.Post("/jobs", sent(doc, nil)), "/jobs/FB-3")
	made, err := d.Jobs.Get(t.Context(), d.Owner, "FB-3")
	if err != nil || made.Title != "Second" || made.Body != "Text" || made.Repo != "ledger-api" || web.JoinAnd(made.Capabilities) != "engine:claude" ||
		web.JoinAnd(made.Acceptance) != "It works" || web.JoinAnd(made.DependsOn) != "FB-1" || web.JoinAnd(made.Tags) != "api" || made.Phase != "M1" ||
		*made.TokenBudget != budget || *made.BudgetNanos != nanos || *made.Complexity != hard || made.Tier != jobs.TierSmall || len(made.SecretKeys) != 0 || string(made.InputContext) != `{"BRANCH": "main"}` {
		t.Errorf("made %+v with %s, %v", made, made.InputContext, err)
	}
	handlertest.WantStatus(t, d.Get("/jobs/new?from=FB-404"), http.StatusNotFound)
}

// A draft of an edit comes back as it was typed, with what has changed since.
func TestADraftOfAnEdit(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("First")
	draft := opened(t, d, "/jobs/FB-1/edit", url.Values{"title": {"Drafted"}})
	seven := 7
	if _, err := d.Jobs.Patch(t.Context(), d.Owner, j.Key, jobs.Patch{Version: j.Version, Spec: jobs.Spec{Priority: seven},
		Set: []string{"priority"}}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Post("/jobs/FB-1/edit?draft=1", draft), http.StatusOK)
	handlertest.WantCount(t, doc, "#title[value=Drafted], #priority[value='7']", 2)
	handlertest.WantText(t, doc, "#changed-priority", "Priority is now 7")
	if d.Now(j).Title != "First" {
		t.Error("the draft was saved")
	}
}
