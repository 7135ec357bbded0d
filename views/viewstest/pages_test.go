package viewstest

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/layout"
)

// Every page keeps the rules that the policy and screen readers need.
func TestPagesKeepTheRules(t *testing.T) {
	for name, c := range samplePages(layout.ThemeDark) {
		t.Run(name, func(t *testing.T) {
			doc := Parsed(t, c)
			StrictPolicy(t, doc)
			OneOfEach(t, doc)
			References(t, doc)
			FormsWithoutScript(t, doc)
		})
	}
}

func TestThemeIsWrittenByTheServer(t *testing.T) {
	for theme, want := range map[layout.Theme]string{layout.ThemeSystem: "", layout.ThemeLight: "fleet-light", layout.ThemeDark: "fleet-dark"} {
		doc := Parsed(t, samplePages(theme)["board"])
		if got := doc.Find("html").AttrOr("data-theme", ""); got != want {
			t.Errorf("theme %q writes %q, want %q", theme, got, want)
		}
		form := doc.Find(`aside form[action="/theme"]`)
		if form.Find("button[name=theme]").AttrOr("value", "") != theme.Next() || form.Find("input[name=next]").AttrOr("value", "") != "/board" {
			t.Errorf("the switch of %q goes elsewhere", theme)
		}
	}
}

func TestNavigationHasOnlyWhatExists(t *testing.T) {
	doc := Parsed(t, samplePages(layout.ThemeLight)["board"])
	var got []string
	doc.Find("nav.nav a").Each(func(_ int, a *goquery.Selection) { got = append(got, a.AttrOr("href", "")) })
	if strings.Join(got, " ") != "/board /jobs/new /needs-you /review /agents /budgets /timeline /messages /status /settings" {
		t.Errorf("the navigation has %v", got)
	}
	if got := doc.Find("nav.nav [aria-current=page]").AttrOr("href", ""); got != "/board" {
		t.Errorf("the current page is %q", got)
	}
	if got := doc.Find("title").First().Text(); got != "Board (9 running) · Kestrel Labs · Fleetboard" {
		t.Errorf("title %q", got)
	}
	viewer := Shell(layout.SectionBoard, "Board")
	viewer.CanWrite = false
	b := Board()
	b.CanWrite = false
	if n := Parsed(t, board.View(board.Page{Shell: viewer, Board: b})).Find(`a[href="/jobs/new"]`).Length(); n != 0 {
		t.Errorf("a viewer sees %d links to the form", n)
	}
}

func TestErrorPages(t *testing.T) {
	shell := Shell("", "")
	for _, code := range []int{403, 404, 409, 500, 418, 599} {
		for _, s := range []*layout.Shell{nil, &shell} {
			doc := Parsed(t, layout.ErrorView(layout.ErrorPage{Shell: s, Code: code, RequestID: "req_1"}))
			if doc.Find("h1").Text() == "" || !strings.Contains(doc.Find("main").Text(), "req_1") || doc.Find(`main a.btn-primary[href="/board"]`).Length() != 1 {
				t.Errorf("%d: no title, request or way back", code)
			}
		}
	}
	own := Parsed(t, layout.ErrorView(layout.ErrorPage{Code: 409, Title: "FB-1 has changed", Message: "It is completed now.", BackURL: "/jobs/FB-1", BackLabel: "Open FB-1"}))
	if own.Find("h1").Text() != "FB-1 has changed" || own.Find(`a[href="/jobs/FB-1"]`).Text() != "Open FB-1" {
		t.Error("own words are not shown")
	}
}
