// Package viewstest holds what tests of several pages need: sample models, text
// that attacks a page, and the rules that every page keeps. Its own tests go
// over all pages.
package viewstest

import (
	"context"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"
)

// HTML renders a component.
func HTML(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Parsed renders a component and reads it again.
func Parsed(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(HTML(t, c)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// StrictPolicy finds what the Content-Security-Policy would refuse.
func StrictPolicy(t *testing.T, doc *goquery.Document) {
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

// OneOfEach checks that what a document has once is there once, and no id twice.
func OneOfEach(t *testing.T, doc *goquery.Document) {
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

// References checks that what an element names is there.
func References(t *testing.T, doc *goquery.Document) {
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

// FormsWithoutScript checks that what htmx sends, a plain form sends too.
func FormsWithoutScript(t *testing.T, doc *goquery.Document) {
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
