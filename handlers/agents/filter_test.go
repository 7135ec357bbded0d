package agents_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/views/links"
)

// The kinds and the search leave what they say, in the page, in its live part and
// after an action, and each kind says how many agents it would leave.
func TestNarrowingTheAgents(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	d.Claim(d.Agent("busy"))
	d.Agent("calm", func(r *fleet.Registration) { r.Factory.Capabilities = []string{"gpu:h100"} })
	d.Agent("gone")
	dbfactory.Exec(t, d.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 hour' WHERE name = 'gone'`)
	all := func(doc *goquery.Document, place string) string {
		return strings.Join(doc.Find(place).Map(func(_ int, s *goquery.Selection) string { return s.Text() }), " ")
	}
	rows := func(doc *goquery.Document) string { return all(doc, "#agents-panel tbody b") }
	for query, want := range map[string]struct{ counts, rows string }{
		"":                     {"All 3 Working 1 Idle 1 Attention 1", "busy calm gone"},
		"?show=working":        {"All 3 Working 1 Idle 1 Attention 1", "busy"},
		"?show=idle":           {"All 3 Working 1 Idle 1 Attention 1", "calm"},
		"?show=attention":      {"All 3 Working 1 Idle 1 Attention 1", "gone"},
		"?show=nonsense":       {"All 3 Working 1 Idle 1 Attention 1", "busy calm gone"},
		"?q=ALPHA":             {"All 1 Working 1 Idle 0 Attention 0", "busy"},
		"?q=gpu:h":             {"All 1 Working 0 Idle 1 Attention 0", "calm"},
		"?q=of-gone":           {"All 1 Working 0 Idle 0 Attention 1", "gone"},
		"?q=go&show=idle":      {"All 1 Working 0 Idle 0 Attention 1", ""},
		"?q=calm&show=working": {"All 1 Working 0 Idle 1 Attention 0", ""},
	} {
		for _, at := range []string{"/agents", "/agents/panel"} {
			doc := handlertest.Page(t, d.Get(at+query), http.StatusOK)
			counts := all(doc, "#agents-kinds a")
			if got := rows(doc); got != want.rows || counts != want.counts {
				t.Errorf("%s%s: %q, %q; want %q, %q", at, query, got, counts, want.rows, want.counts)
			}
			if want.rows == "" {
				handlertest.WantText(t, doc, "#agents-panel", "No agent matches")
				handlertest.WantCount(t, doc, "#agents-panel a[href='/agents']", 1)
			}
		}
	}
	doc := handlertest.Page(t, d.Get("/agents?show=idle&q=calm"), http.StatusOK)
	handlertest.WantCount(t, doc, "form.agents-q input[name=show][value=idle]", 1)
	handlertest.WantCount(t, doc, "form.agents-q input[name=q][value=calm]", 1)
	handlertest.WantCount(t, doc, "#agents-kinds a[href='/agents?q=calm&show=working']", 1)
	handlertest.WantCount(t, doc, "#live[hx-sse\\:connect*='show=idle']", 1)

	doc = handlertest.Page(t, d.Hx("/agents?show=idle", "/factories/factory-of-calm/drain", nil), http.StatusOK)
	if got := rows(doc); got != "calm" {
		t.Errorf("after an action there are %q", got)
	}
}

// What the stream of a narrowed page sends is narrowed alike.
func TestANarrowedPageStaysNarrowedLive(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Job("Alpha")
	agent := d.Agent("calm")
	s := d.Stream(t, d.Listen(t)+links.Live("agents", "", url.Values{"show": {"idle"}}), "")
	d.Claim(agent)
	if got := s.Until("No agent waits for a job.").Data; !strings.Contains(got, "agents-kinds") || strings.Contains(got, "agent-factory-of-calm") {
		t.Errorf("the stream sends %s", got)
	}
}
