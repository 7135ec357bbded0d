package views

import (
	"context"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"
)

func html(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parsed(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(html(t, c)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every page keeps the rules that the policy and screen readers need.
func TestPagesKeepTheRules(t *testing.T) {
	for name, c := range samplePages(ThemeDark) {
		t.Run(name, func(t *testing.T) {
			doc := parsed(t, c)
			strictPolicy(t, doc)
			oneOfEach(t, doc)
			references(t, doc)
			formsWithoutScript(t, doc)
		})
	}
}

// strictPolicy finds what the Content-Security-Policy would refuse.
func strictPolicy(t *testing.T, doc *goquery.Document) {
	t.Helper()
	doc.Find("*").Each(func(_ int, el *goquery.Selection) {
		for _, a := range el.Nodes[0].Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || strings.HasPrefix(a.Key, "hx-on") {
				t.Errorf("<%s> has %s=%q", goquery.NodeName(el), a.Key, a.Val)
			}
			if strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:") {
				t.Errorf("<%s> has %s=%q", goquery.NodeName(el), a.Key, a.Val)
			}
		}
	})
	doc.Find("script, link[rel=stylesheet], style").Each(func(_ int, el *goquery.Selection) {
		address := el.AttrOr("src", el.AttrOr("href", ""))
		if !strings.HasPrefix(address, "/static/") || strings.TrimSpace(el.Text()) != "" {
			t.Errorf("<%s> is not a file of ours: %q", goquery.NodeName(el), address)
		}
	})
}

func oneOfEach(t *testing.T, doc *goquery.Document) {
	t.Helper()
	for _, what := range []string{"h1", "main", "title:not(svg title)", "html[lang]", "meta[name=viewport]"} {
		if n := doc.Find(what).Length(); n != 1 {
			t.Errorf("%d of %s, want 1", n, what)
		}
	}
	seen := map[string]bool{}
	doc.Find("[id]").Each(func(_ int, el *goquery.Selection) {
		id := el.AttrOr("id", "")
		if seen[id] {
			t.Errorf("two elements with id %q", id)
		}
		seen[id] = true
	})
	if skip := doc.Find("a.skip"); doc.Find(".app").Length() > 0 && skip.AttrOr("href", "") != "#main" {
		t.Error("no skip link")
	}
}

// references checks that what an element names is there.
func references(t *testing.T, doc *goquery.Document) {
	t.Helper()
	has := func(id string) bool { return doc.Find(`[id="`+id+`"]`).Length() == 1 }
	for _, attr := range []string{"for", "aria-labelledby", "aria-describedby", "aria-controls", "popovertarget", "commandfor", "list"} {
		doc.Find("[" + attr + "]").Each(func(_ int, el *goquery.Selection) {
			for _, id := range strings.Fields(el.AttrOr(attr, "")) {
				if !has(id) {
					t.Errorf("%s=%q names nothing", attr, id)
				}
			}
		})
	}
	doc.Find("use").Each(func(_ int, el *goquery.Selection) {
		if ref := el.AttrOr("href", ""); !strings.HasPrefix(ref, "#") || doc.Find(`symbol[id="`+ref[1:]+`"]`).Length() != 1 {
			t.Errorf("icon %q is not in the sprite", ref)
		}
	})
	doc.Find("button:not([hidden])").Each(func(_ int, el *goquery.Selection) {
		if strings.TrimSpace(el.Text()) == "" && el.AttrOr("aria-label", "") == "" {
			out, _ := goquery.OuterHtml(el)
			t.Errorf("a button without a name: %s", out)
		}
	})
}

// formsWithoutScript checks that what htmx sends, a plain form sends too.
func formsWithoutScript(t *testing.T, doc *goquery.Document) {
	t.Helper()
	doc.Find("form").Each(func(_ int, f *goquery.Selection) {
		method, action := f.AttrOr("method", ""), f.AttrOr("action", "")
		if method != "dialog" && (method != "post" && method != "get" || !strings.HasPrefix(action, "/")) {
			t.Errorf("form %q %q goes nowhere without script", method, action)
		}
	})
	doc.Find("[hx-post]").Each(func(_ int, el *goquery.Selection) {
		to := el.AttrOr("hx-post", "")
		form := el.Closest("form")
		if form.AttrOr("action", "") != to || form.AttrOr("method", "") != "post" {
			t.Errorf("hx-post %q has no form that goes there", to)
		}
		// A tick says what it wants: sent twice it is the same, and it keeps the focus.
		if _, ok := el.Attr("hx-disable"); !ok && form.Find("[role=checkbox]").Length() == 0 {
			t.Errorf("hx-post %q stays on while in flight", to)
		}
	})
}

func TestThemeIsWrittenByTheServer(t *testing.T) {
	for theme, want := range map[Theme]string{ThemeSystem: "", ThemeLight: "fleet-light", ThemeDark: "fleet-dark"} {
		doc := parsed(t, samplePages(theme)["board"])
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
	doc := parsed(t, samplePages(ThemeLight)["board"])
	var got []string
	doc.Find("nav.nav a").Each(func(_ int, a *goquery.Selection) { got = append(got, a.AttrOr("href", "")) })
	if strings.Join(got, " ") != "/board /jobs/new /review /agents /timeline /settings" {
		t.Errorf("the navigation has %v", got)
	}
	if got := doc.Find("nav.nav [aria-current=page]").AttrOr("href", ""); got != "/board" {
		t.Errorf("the current page is %q", got)
	}
	if got := doc.Find("title").First().Text(); got != "Board (9 running) · Kestrel Labs · Fleetboard" {
		t.Errorf("title %q", got)
	}
	viewer := sampleShell(SectionBoard, "Board")
	viewer.CanWrite = false
	b := sampleBoard()
	b.CanWrite = false
	if n := parsed(t, BoardView(BoardPage{viewer, b})).Find(`a[href="/jobs/new"]`).Length(); n != 0 {
		t.Errorf("a viewer sees %d links to the form", n)
	}
}

func TestErrorPages(t *testing.T) {
	shell := sampleShell("", "")
	for _, code := range []int{403, 404, 409, 500, 418, 599} {
		for _, s := range []*Shell{nil, &shell} {
			doc := parsed(t, ErrorView(ErrorPage{Shell: s, Code: code, RequestID: "req_1"}))
			if doc.Find("h1").Text() == "" || !strings.Contains(doc.Find("main").Text(), "req_1") || doc.Find(`main a.btn-primary[href="/board"]`).Length() != 1 {
				t.Errorf("%d: no title, request or way back", code)
			}
		}
	}
	own := parsed(t, ErrorView(ErrorPage{Code: 409, Title: "FB-1 has changed", Message: "It is completed now.", BackURL: "/jobs/FB-1", BackLabel: "Open FB-1"}))
	if own.Find("h1").Text() != "FB-1 has changed" || own.Find(`a[href="/jobs/FB-1"]`).Text() != "Open FB-1" {
		t.Error("own words are not shown")
	}
}
