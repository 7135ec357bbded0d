package board_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestBoardBeforeTheFirstJob(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantText(t, doc, "#first-run", "Waiting for the first heartbeat")
	handlertest.WantText(t, doc, "#first-run pre", "/data/enrolment-token")
	handlertest.WantCount(t, doc, "#board", 0)

	d.Agent("claude-1")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), "#first-run", "claude-1 on factory-of-claude-1 is here")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), "#first-offers", "Reposledger-api")
}

func TestBoardShowsJobsAndWhyTheyWait(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	first := d.Job("Port the cache", func(n *jobs.New) { n.Capabilities = []string{"engine:codex"}; n.Phase = "M2" })
	second := d.Job("Use the cache", func(n *jobs.New) { n.DependsOn = []string{first.Key} })
	third := d.Job("Runs now", func(n *jobs.New) { n.Repo = "ledger-api" })

	doc := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantText(t, doc, "#col-ready #card-fb-1", "No live factory offers engine:codex. Nearest miss: factory-of-claude-1")
	handlertest.WantText(t, doc, "#col-waiting #card-fb-2", "Waits for "+first.Key)
	handlertest.WantText(t, doc, "#col-ready #card-fb-3", "A seat is free on factory-of-claude-1")
	handlertest.WantText(t, doc, "#board-note", "1 job cannot run on any live factory.")
	handlertest.WantText(t, doc, "#board-total", "3 jobs")
	handlertest.WantText(t, doc, "#sub-running", "2 seats free")
	handlertest.WantText(t, doc, "#fleet", "0 of 2")
	handlertest.WantCount(t, doc, "#card-fb-2 a[href='/jobs/"+first.Key+"']", 1)
	if moves, _ := doc.Find("#card-fb-3").Attr("data-moves"); moves != "waiting failed" {
		t.Errorf("a ready card moves to %q", moves)
	}
	if live, _ := doc.Find("#live").Attr("hx-sse:connect"); live == "" {
		t.Error("the board has no stream")
	}
	_, _ = second, third
}

func TestBoardFilters(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha", func(n *jobs.New) { n.Repo = "ledger-api"; n.Phase = "M1"; p := 9; n.Priority = &p })
	d.Job("Beta", func(n *jobs.New) { n.Repo = "docs"; n.Phase = "M2" })
	for query, want := range map[string]string{
		"repo=docs": "Beta", "phase=M1": "Alpha", "priority=8": "Alpha", "q=eta": "Beta", "repo=ledger-api&phase=M1": "Alpha",
	} {
		doc := handlertest.Page(t, d.Get("/board?"+query), http.StatusOK)
		handlertest.WantCount(t, doc, "[data-card]", 1)
		handlertest.WantText(t, doc, "[data-card]", want)
		if doc.Find(".chip-on").Length() == 0 {
			t.Errorf("%s: no chip for the filter", query)
		}
		if got, _ := url.QueryUnescape(doc.Find("#live").AttrOr("hx-sse:connect", "")); !containsAll(got, query) {
			t.Errorf("%s: the stream %q does not know the filter", query, got)
		}
	}
	doc := handlertest.Page(t, d.Get("/board?repo=nothing"), http.StatusOK)
	handlertest.WantText(t, doc, ".board-none", "One filter is on: Repo nothing.")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/board?show=unroutable"), http.StatusOK), "[data-card]", 2)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/board?priority=x&group=nonsense&show=1"), http.StatusOK), "[data-card]", 2)
}

// A filter takes several values of one name, each with a way out of it, and at most 20.
func TestBoardFiltersTakeSeveralValues(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for _, phase := range []string{"m1", "m2", "m3"} {
		d.Job("Job of "+phase, func(n *jobs.New) { n.Phase = phase })
	}
	doc := handlertest.Page(t, d.Get("/board?phase=m2&phase=m1&phase=m2&phase="), http.StatusOK)
	handlertest.WantCount(t, doc, "[data-card]", 2)
	handlertest.WantCount(t, doc, ".chip-on", 2)
	handlertest.WantCount(t, doc, ".chip-on a[href='/board?phase=m1'], .chip-on a[href='/board?phase=m2']", 2)
	handlertest.WantCount(t, doc, "#f-phase a[aria-current]", 2)
	handlertest.WantCount(t, doc, "#f-phase a[href='/board?phase=m1&phase=m2&phase=m3'], #f-phase a[href='/board']", 2)
	handlertest.WantCount(t, doc, "form[role=search] input[type=hidden][name=phase][value=m2]", 2)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/board?phase=m1&phase=m2&product=default&product=other"), http.StatusOK), "[data-card]", 2)

	s := d.Stream(t, d.Listen(t)+d.LiveURL("/board?phase=m1&phase=m2"), "")
	d.Job("Another one", func(n *jobs.New) { n.Phase = "m3" })
	d.Job("The next", func(n *jobs.New) { n.Phase = "m2" })
	if got := s.Until("The next").Data; strings.Contains(got, "Another one") {
		t.Errorf("the stream sends %s", got)
	}

	var many strings.Builder
	for i := range 21 {
		fmt.Fprintf(&many, "&%%s=v%d", i)
	}
	for at, name := range map[string]string{"/board?": "product", "/board/column/ready?": "phase", "/timeline?": "actor", "/timeline?by=job": "job",
		"/usage?": "model", "/usage/groups.csv?by=phase": "agent", "/search?q=x&in=messages": "from", "/live?on=board": "repo",
		"/live?on=timeline": "group"} {
		path := at + strings.ReplaceAll(many.String(), "%s", name)
		if text := handlertest.Read(t, d.Get(path), http.StatusUnprocessableEntity); !strings.Contains(text, "at most 20 values") {
			t.Errorf("%s answers %.300s", at, text)
		}
	}
}

func containsAll(text, query string) bool {
	values, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	for name, list := range values {
		for _, v := range list {
			if !strings.Contains(text, name+"="+v) {
				return false
			}
		}
	}
	return true
}

func TestBoardGroups(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha", func(n *jobs.New) { n.Phase = "M2" })
	d.Job("Beta", func(n *jobs.New) { n.Phase = "M1" })
	d.Job("Gamma")
	doc := handlertest.Page(t, d.Get("/board?group=phase"), http.StatusOK)
	handlertest.WantText(t, doc, "#list-ready .group-h", "M1M2No phase")
}

func TestBoardLoadsMore(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	var batch []jobs.New
	for range 60 {
		batch = append(batch, jobs.New{Spec: jobs.Spec{Title: "One of many"}})
	}
	if _, err := d.Jobs.Create(t.Context(), d.Owner, nil, batch...); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/board"), http.StatusOK)
	handlertest.WantCount(t, doc, "#list-ready [data-card]", 50)
	handlertest.WantText(t, doc, "#n-ready", "60")
	more := doc.Find("#more-ready a").AttrOr("href", "")
	rest := handlertest.Page(t, d.Get(more), http.StatusOK)
	handlertest.WantCount(t, rest, "html .col-page [data-card]", 10)
	handlertest.WantCount(t, rest, "#more-ready", 0)

	r := handlertest.Request(http.MethodGet, more, nil)
	r.Header.Set("HX-Request", "true")
	fragment := handlertest.Page(t, d.Do(r), http.StatusOK)
	handlertest.WantCount(t, fragment, "[data-card]", 10)
	handlertest.WantCount(t, fragment, "#main", 0)
	handlertest.Read(t, d.Get("/board/column/nowhere"), http.StatusNotFound)
	handlertest.Read(t, d.Get("/board/column/ready?after=nonsense"), http.StatusBadRequest)
}

func TestBoardForViewers(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	viewer := d.As(tenancy.RoleViewer)
	doc := handlertest.Page(t, viewer.Get("/board"), http.StatusOK)
	handlertest.WantCount(t, doc, "[data-card]", 1)
	handlertest.WantCount(t, doc, "a[href='/jobs/new']", 0)
	if moves := doc.Find("[data-card]").AttrOr("data-moves", ""); moves != "" {
		t.Errorf("a viewer may move to %q", moves)
	}
	for target, fields := range map[string]url.Values{
		"/jobs":                      {"title": {"No"}},
		"/jobs/FB-1/move":            {"to": {"waiting"}},
		"/jobs/FB-1/pause":           {},
		"/jobs/new/preview":          {"body": {"x"}},
		"/factories/mac-1/drain":     {},
		"/agents/claude-1/terminate": {},
	} {
		handlertest.Read(t, viewer.Post(target, fields), http.StatusForbidden)
	}
	handlertest.Read(t, viewer.Get("/jobs/new"), http.StatusForbidden)
	member := d.As(tenancy.RoleMember)
	handlertest.Read(t, member.Post("/factories/mac-1/drain", nil), http.StatusForbidden)
	handlertest.Read(t, member.Get("/jobs/new"), http.StatusOK)
}

func TestTextFromAgentsIsShownAsText(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	const hostile = `<img src=x onerror=alert(1)>"'&{{ }}`
	d.Job(hostile, func(n *jobs.New) {
		n.Body, n.Phase, n.Acceptance = hostile+"\n\n[x](javascript:alert(1)) ![i](https://evil.example/x.png)", hostile, []string{hostile}
	})
	for _, target := range []string{"/board", "/board?q=" + url.QueryEscape(hostile), "/board?group=phase", "/jobs/FB-1", "/palette?q=" + url.QueryEscape("<img"), "/jobs/search?q=" + url.QueryEscape("<img")} {
		doc := handlertest.Page(t, d.Get(target), http.StatusOK)
		handlertest.WantCount(t, doc, "img", 0)
		handlertest.WantCount(t, doc, "[onerror]", 0)
		handlertest.WantCount(t, doc, "a[href^='javascript']", 0)
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/jobs/FB-1"), http.StatusOK), "h1", "<img src=x onerror=alert(1)>")
}
