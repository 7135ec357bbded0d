package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// A browser that lets pages remember nothing shows all of them, and decisions are sent.
func TestPagesWorkWhereNothingIsRemembered(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	submitForReview(t, s, api.NewJob{Title: "Drain a factory"})
	handIn(t, agent, "9be04d1f00")
	v := s.visit(desktop)
	v.must("forbid storage", v.tab.AddInitScript(playwright.Script{Content: playwright.String(`
		for (const name of ["localStorage", "sessionStorage"]) {
			Object.defineProperty(window, name, { get() { throw new DOMException("not allowed", "SecurityError"); } });
		}`)}))
	v.logIn()
	v.live()
	v.open("/jobs/FB-1/log")
	v.click("#joblog-wrap")
	v.sees("#joblog-wrap[aria-pressed=false]")
	v.open("/jobs/new")
	v.fill("#title", "Not kept")
	v.sees("text=This browser keeps no drafts")
	v.open("/review?job=FB-1")
	v.live()
	v.key("a")
	v.sees(`#toasts:has-text("FB-1 approved")`)
}
