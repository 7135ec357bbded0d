package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
)

// wantNote waits until one note alone shows, with a text.
func (v *visitor) wantNote(text string) {
	v.t.Helper()
	v.sees("main .note-slot .note:visible:has-text(" + `"` + text + `")`)
	v.must("one note", playwright.NewPlaywrightAssertions(timeout).Locator(v.tab.Locator("main .note-slot .note:visible")).ToHaveCount(1))
}

// However much there is to say, one line says it, the gravest first. What was put away stays
// away, also from what arrives live, until it changes.
func TestOneNoteAtATimeThatCanBePutAway(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	budget(t, s, "Everything", "0")
	stuck(t, s, "Paint the hull", "has:paint")
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.wantNote("Everything is used up.")
	v.wantNote("and 1 more")
	v.must("mark the page", mark(v))
	v.must("focus the cross", v.tab.Locator(".note:visible [data-put-away] button").Focus())
	v.key("Enter")
	v.wantNote("1 job cannot run on any live factory.")
	v.focused("#main")
	v.click(".note:visible [data-put-away] button")
	v.gone("main .note-slot .note:visible")

	stuck(t, s, "Paint the deck", "has:paint")
	v.wantNote("2 jobs cannot run on any live factory.")
	if !marked(v) {
		t.Error("the page was loaded again")
	}
	v.open("/agents")
	v.sees("h1:has-text('Agents')")
	v.gone("main .note-slot .note:visible")

	plain := s.visit(look{theme: "light", width: 390, height: 844, noScript: true})
	plain.logIn()
	plain.wantNote("Everything is used up.")
	plain.click(".note:visible [data-put-away] button")
	plain.wantNote("2 jobs cannot run on any live factory.")
	plain.open("/budgets")
	plain.sees("h1:has-text('Budgets')")
	plain.gone("main .note-slot .note:visible")
}
