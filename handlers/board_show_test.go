package handlers

import (
	"net/http"
	"net/url"
	"testing"

	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

func TestBoardBeforeTheFirstJob(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/board"), http.StatusOK)
	wantText(t, doc, "#first-run", "Waiting for the first heartbeat")
	wantText(t, doc, "#first-run pre", "/data/enrolment-token")
	wantCount(t, doc, "#board", 0)

	d.agent("claude-1")
	wantText(t, page(t, d.get("/board"), http.StatusOK), "#first-run", "claude-1 on factory-of-claude-1 is here")
}

func TestBoardShowsJobsAndWhyTheyWait(t *testing.T) {
	d := newDesk(t)
	d.agent("claude-1")
	first := d.job("Port the cache", func(n *jobs.New) { n.Capabilities = []string{"engine:codex"}; n.Phase = "M2" })
	second := d.job("Use the cache", func(n *jobs.New) { n.DependsOn = []string{first.Key} })
	third := d.job("Runs now", func(n *jobs.New) { n.Repo = "ledger-api" })

	doc := page(t, d.get("/board"), http.StatusOK)
	wantText(t, doc, "#col-ready #card-fb-1", "No live factory offers engine:codex. Nearest miss: factory-of-claude-1")
	wantText(t, doc, "#col-waiting #card-fb-2", "Waits for "+first.Key)
	wantText(t, doc, "#col-ready #card-fb-3", "2 seats free on factory-of-claude-1")
	wantText(t, doc, "#board-note", "1 job cannot run on any live factory.")
	wantText(t, doc, "#board-total", "3 jobs")
	wantText(t, doc, "#sub-running", "2 seats free")
	wantText(t, doc, "#fleet", "0 / 2")
	wantCount(t, doc, "#card-fb-2 a[href='/jobs/"+first.Key+"']", 1)
	if moves, _ := doc.Find("#card-fb-3").Attr("data-moves"); moves != "waiting failed" {
		t.Errorf("a ready card moves to %q", moves)
	}
	if live, _ := doc.Find("#live").Attr("hx-sse:connect"); live == "" {
		t.Error("the board has no stream")
	}
	_, _ = second, third
}

func TestBoardFilters(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha", func(n *jobs.New) { n.Repo = "ledger-api"; n.Phase = "M1"; p := 9; n.Priority = &p })
	d.job("Beta", func(n *jobs.New) { n.Repo = "docs"; n.Phase = "M2" })
	for query, want := range map[string]string{
		"repo=docs": "Beta", "phase=M1": "Alpha", "priority=8": "Alpha", "q=eta": "Beta", "repo=ledger-api&phase=M1": "Alpha",
	} {
		doc := page(t, d.get("/board?"+query), http.StatusOK)
		wantCount(t, doc, "[data-card]", 1)
		wantText(t, doc, "[data-card]", want)
		if doc.Find(".chip-on").Length() == 0 {
			t.Errorf("%s: no chip for the filter", query)
		}
		if got, _ := url.QueryUnescape(doc.Find("#live").AttrOr("hx-sse:connect", "")); !containsAll(got, query) {
			t.Errorf("%s: the stream %q does not know the filter", query, got)
		}
	}
	doc := page(t, d.get("/board?repo=nothing"), http.StatusOK)
	wantText(t, doc, ".board-none", "One filter is on: Repo nothing.")
	wantCount(t, page(t, d.get("/board?show=unroutable"), http.StatusOK), "[data-card]", 2)
	wantCount(t, page(t, d.get("/board?priority=x&group=nonsense&show=1"), http.StatusOK), "[data-card]", 2)
}

func containsAll(text, query string) bool {
	values, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	for name := range values {
		if !contains(text, name+"="+values.Get(name)) {
			return false
		}
	}
	return true
}

func TestBoardGroups(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha", func(n *jobs.New) { n.Phase = "M2" })
	d.job("Beta", func(n *jobs.New) { n.Phase = "M1" })
	d.job("Gamma")
	doc := page(t, d.get("/board?group=phase"), http.StatusOK)
	wantText(t, doc, "#list-ready .group-h", "M1M2No phase")
}

func TestBoardLoadsMore(t *testing.T) {
	d := newDesk(t)
	var batch []jobs.New
	for range 60 {
		batch = append(batch, jobs.New{Title: "One of many"})
	}
	if _, err := d.Jobs.Create(t.Context(), d.owner, jobs.Origin{}, batch...); err != nil {
		t.Fatal(err)
	}
	doc := page(t, d.get("/board"), http.StatusOK)
	wantCount(t, doc, "#list-ready [data-card]", 50)
	wantText(t, doc, "#n-ready", "60")
	more := doc.Find("#more-ready a").AttrOr("href", "")
	rest := page(t, d.get(more), http.StatusOK)
	wantCount(t, rest, "html .col-page [data-card]", 10)
	wantCount(t, rest, "#more-ready", 0)

	r := request(http.MethodGet, more, nil)
	r.Header.Set("HX-Request", "true")
	fragment := page(t, d.do(r), http.StatusOK)
	wantCount(t, fragment, "[data-card]", 10)
	wantCount(t, fragment, "#main", 0)
	read(t, d.get("/board/column/nowhere"), http.StatusNotFound)
	read(t, d.get("/board/column/ready?after=nonsense"), http.StatusBadRequest)
}

func TestBoardForViewers(t *testing.T) {
	d := newDesk(t)
	d.job("Alpha")
	viewer := d.as(tenancy.RoleViewer)
	doc := page(t, viewer.get("/board"), http.StatusOK)
	wantCount(t, doc, "[data-card]", 1)
	wantCount(t, doc, "a[href='/jobs/new']", 0)
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
		read(t, viewer.post(target, fields), http.StatusForbidden)
	}
	read(t, viewer.get("/jobs/new"), http.StatusForbidden)
	member := d.as(tenancy.RoleMember)
	read(t, member.post("/factories/mac-1/drain", nil), http.StatusForbidden)
	read(t, member.get("/jobs/new"), http.StatusOK)
}

func TestTextFromAgentsIsShownAsText(t *testing.T) {
	d := newDesk(t)
	const hostile = `<img src=x onerror=alert(1)>"'&{{ }}`
	d.job(hostile, func(n *jobs.New) {
		n.Body, n.Phase, n.Acceptance = hostile+"\n\n[x](javascript:alert(1)) ![i](https://evil.example/x.png)", hostile, []string{hostile}
	})
	for _, target := range []string{"/board", "/board?q=" + url.QueryEscape(hostile), "/board?group=phase", "/jobs/FB-1", "/palette?q=" + url.QueryEscape("<img"), "/jobs/search?q=" + url.QueryEscape("<img")} {
		doc := page(t, d.get(target), http.StatusOK)
		wantCount(t, doc, "img", 0)
		wantCount(t, doc, "[onerror]", 0)
		wantCount(t, doc, "a[href^='javascript']", 0)
	}
	wantText(t, page(t, d.get("/jobs/FB-1"), http.StatusOK), "h1", "<img src=x onerror=alert(1)>")
}
