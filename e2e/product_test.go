package e2e

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// submitTo creates a job in a repo.
func submitTo(t *testing.T, s *server, title, repo string) {
	t.Helper()
	answer, err := s.owner().CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: title, Repo: &repo})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, answer.Body)
	}
}

// A person makes a product, and the board says what it holds back.
func TestAProductSaysHowItsJobsAreWorkedOn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.agent("claude-1", func(r *api.Registration) {
		r.Factory.Repos = &[]api.Repo{{Name: "ledger-api"}}
	})
	v := s.visit(desktop)
	v.logIn()
	v.click("nav[aria-label=Main] >> text=Settings")
	v.click(".settings-nav >> text=Products and repos")
	v.sees(".empty:has-text('There is one product, default')")
	v.click("text=New product")

	// A refused form keeps all of it.
	v.fill("#repos", "ledger-api")
	v.must("choose how jobs share a repo", selectOption(v, "#serialise", "repo"))
	v.fill("#review_limit", "many")
	v.click("text=Create product")
	v.sees("#name-e:has-text('A product must have a name.')")
	v.sees("#review_limit-e")
	v.fill("#name", "ledger")
	v.fill("#review_limit", "")
	v.click("text=Create product")
	v.sees("#toasts:has-text('ledger created')")
	v.sees("tr[data-product=ledger]:has-text('One at a time')")

	submitTo(t, s, "Show invoices in integer cents", "ledger-api")
	submitTo(t, s, "Round half to even", "ledger-api")
	v.click("tr[data-product=ledger] >> text=ledger")
	v.sees(card("FB-1", "ready"))
	v.sees(card("FB-2", "waiting") + ":has-text('Repo busy: FB-1 holds ledger-api')")

	v.open("/settings/products")
	v.click("tr[data-product=ledger] button:has-text('Pause')")
	v.sees("#toasts:has-text('ledger is paused')")
	v.sees("tr[data-product=ledger]:has-text('Paused')")
	v.open("/board")
	v.sees(card("FB-1", "ready") + ":has-text('Its product ledger is paused')")

	// It has jobs: it stays, and says so.
	v.open("/settings/products/ledger")
	v.click("#product-end button:has-text('Delete product')")
	v.click("#dlg-delete[open] button:has-text('Delete product')")
	v.sees("#toasts:has-text('ledger has jobs')")
	v.click("main button:has-text('Go on')")
	v.sees("#toasts:has-text('ledger goes on')")
}

// Without scripts all of it works, too.
func TestAProductWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	v.logIn()
	v.open("/settings/products/new")
	v.fill("#name", "shop")
	v.fill("#repos", "shop-api\nshop-web")
	v.click("text=Create product")
	v.sees("tr[data-product=shop]:has-text('shop-web')")
	v.click("tr[data-product=shop] button:has-text('Pause')")
	v.sees("tr[data-product=shop] button:has-text('Go on')")
	v.click("tr[data-product=shop] >> text=Edit")
	v.click("#product-end a:has-text('Delete product')")
	// A click would wait for the dialog to rest, by a timer that is off here, too.
	v.must("delete it", v.tab.Locator("#dlg-delete button[type=submit]").Press("Enter"))
	v.sees("#toasts:has-text('shop was deleted')")
}
