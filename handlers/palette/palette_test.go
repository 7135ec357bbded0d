package palette_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// What can be done with the job at hand is found by its name: with the key that the
// query ends with, or on the job's page.
func TestPaletteActsOnTheJobAtHand(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Fix the reaper")
	ask := func(s *handlertest.Site, page, query string) *goquery.Document {
		t.Helper()
		r := handlertest.Request(http.MethodGet, "/palette?q="+url.QueryEscape(query), nil)
		r.Header.Set("HX-Request", "true")
		r.Header.Set("HX-Current-URL", "http://example.com"+page)
		return handlertest.Page(t, s.Do(r), http.StatusOK)
	}
	cancel, pause := "a[role=option][href='/jobs/FB-1#dlg-cancel']:not([hx-post])", "a[role=option][hx-post='/jobs/FB-1/pause']"
	for _, c := range []struct {
		page, query   string
		cancel, pause int
	}{
		{"/board", "cancel fb-1", 1, 0}, {"/board", "pause FB-1", 0, 1}, {"/board", "cancel", 0, 0}, {"/board", "cancel FB-99", 0, 0},
		{"/jobs/FB-1", "canc", 1, 0}, {"/jobs/FB-1/log", "cancel", 1, 0}, {"/jobs/FB-1", "", 1, 1}, {"/review?job=FB-1", "cancel", 1, 0},
		{"/jobs/new", "cancel", 0, 0}, {"/jobs/FB-1", "approve", 0, 0},
	} {
		doc := ask(d.Site, c.page, c.query)
		if doc.Find(cancel).Length() != c.cancel || doc.Find(pause).Length() != c.pause {
			t.Errorf("%q on %s finds %q", c.query, c.page, doc.Text())
		}
	}
	handlertest.WantText(t, ask(d.Site, "/board", "cancel fb-1"), cancel, "Cancel FB-1")
	doc := ask(d.Site, "/jobs/FB-1", "stop")
	handlertest.WantCount(t, doc, cancel+", "+pause, 2)
	handlertest.WantText(t, doc, ".pal-h:first-child", "Do")
	r := handlertest.Request(http.MethodGet, "/palette?q=pause&chosen=FB-1", nil)
	handlertest.WantText(t, handlertest.Page(t, d.Do(r), http.StatusOK), pause+"[aria-selected=true]", "Pause FB-1")
	dark := "a[role=option][hx-post='/theme']"
	handlertest.WantText(t, ask(d.Site, "/agents", "dark"), dark+`[hx-vals='{"next":"/agents","theme":"dark"}']`, "Theme: dark")
	handlertest.WantCount(t, ask(d.Site, "/agents", "theme"), dark, 3)
	handlertest.WantCount(t, ask(d.As(tenancy.RoleViewer), "/jobs/FB-1", "cancel"), cancel, 0)
}

func TestPaletteFindsAgentsAndNamesJobs(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("claude-1")
	doc := handlertest.Page(t, d.Get("/palette?q=claude"), http.StatusOK)
	handlertest.WantCount(t, doc, "a[href='/agents#agent-factory-of-claude-1-claude-1']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/agents"), http.StatusOK), "#agent-factory-of-claude-1-claude-1", 1)
	handlertest.WantText(t, doc, "a[href='/jobs/new?title=claude']", "New job named “claude”")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/jobs/new?title=claude"), http.StatusOK), "#title[value=claude]", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/palette?q=claude"), http.StatusOK), "a[href^='/jobs/new']", 0)
}

func TestPalette(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Fix the reaper")
	d.Agent("claude-1")
	doc := handlertest.Page(t, d.Get("/palette?q=reap"), http.StatusOK)
	handlertest.WantCount(t, doc, "a[role=option][href='/jobs/FB-1']", 1)
	handlertest.WantText(t, doc, "mark", "reap")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette?q=fb-1"), http.StatusOK), "a[href='/jobs/FB-1']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette?q=factory-of"), http.StatusOK), "a[href='/agents#factory-factory-of-claude-1']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette"), http.StatusOK), "a[href='/jobs/new']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/palette"), http.StatusOK), "a[href='/jobs/new']", 0)
}
