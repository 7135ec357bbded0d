package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// Where criteria are open the key asks for confirmation, and says which; what is ticked meanwhile, by
// whomever, changes the question without closing it.
func TestApprovingOpenCriteriaAsks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-4")
	submitForReview(t, s, api.NewJob{Title: "Drain a factory", Acceptance: &[]string{"No new claim", "Leases keep their epoch"}})
	handIn(t, agent, "9be04d1f00")
	v := s.visit(desktop)
	v.logIn()
	v.open("/review?job=FB-1")
	v.live()
	v.key("a")
	v.sees(`#dlg-approve[open]:has-text("2 criteria are open"):has-text("No new claim")`)
	v.key("a") // not a second press of the button
	other := s.visit(desktop)
	other.logIn()
	other.open("/review?job=FB-1")
	other.live()
	other.click("#tick-0")
	v.sees(`#dlg-approve[open]:has-text("1 criterion is open"):not(:has-text("No new claim"))`)
	v.key("Escape")
	v.sees("#dlg-approve:not([open])")
	if job := s.job("FB-1"); job.Status != "in_review" {
		t.Errorf("FB-1 is %s", job.Status)
	}

	v.key("r") // typed text stays while the page changes
	v.sees("#dlg-reject[open]")
	v.fill("#why-reject", "Half a sen")
	other.click("#tick-0")
	v.sees(`.rv-r:has-text("0 of 2")`)
	if text, err := v.tab.Locator("#dlg-reject[open] #why-reject").InputValue(); err != nil || text != "Half a sen" {
		t.Errorf("the reason is %q, %v", text, err)
	}
	v.key("Escape")

	v.key("a")
	v.sees("#dlg-approve[open]")
	v.click(`#dlg-approve button:has-text("Approve all the same")`)
	v.sees(`#toasts:has-text("FB-1 approved")`)
}

// A key that is pressed twice, and a double click, decide once: neither the request
// under way nor the next job is approved a second time.
func TestApproveFiresOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-4")
	for _, title := range []string{"First", "Second", "Third"} {
		submitForReview(t, s, api.NewJob{Title: title})
		handIn(t, agent, "9be04d1f00")
	}
	v := s.visit(desktop)
	v.logIn()
	v.open("/review?job=FB-1")
	v.live()
	var sent atomic.Int32
	answer := make(chan struct{})
	v.must("hold the decision", v.tab.Route("**/review/*/approve", func(r playwright.Route) {
		sent.Add(1)
		go func() {
			<-answer
			if err := r.Continue(); err != nil {
				t.Errorf("the held decision: %v", err)
			}
		}()
	}))
	v.key("a")
	v.sees("#do-approve[disabled]")
	v.key("a")
	close(answer)
	v.sees(`h2:has-text("Second")`)
	v.sees(`#toasts:has-text("FB-1 approved")`)
	v.live() // the scripts of the page are there
	// The last decision was made ago milliseconds before: to the clock, however long that took.
	decided := func(ago int) {
		t.Helper()
		_, err := v.tab.Evaluate(fmt.Sprintf(`sessionStorage.setItem("decided", Date.now() - %d)`, ago))
		v.must("set the time of the last decision", err)
	}
	decided(-60_000)
	v.key("a") // the second press comes when the next job is there
	decided(-60_000)
	v.must("click", v.tab.Locator("#do-approve").Click())
	v.live()
	if n, status := sent.Load(), s.job("FB-2").Status; n != 1 || status != "in_review" {
		t.Errorf("%d decisions were sent, FB-2 is %s", n, status)
	}
	decided(60_000)
	v.must("double click", v.tab.Locator("#do-approve").Dblclick())
	v.sees(`h2:has-text("Third")`)
	v.sees(`#toasts:has-text("FB-2 approved")`)
	if n, status := sent.Load(), s.job("FB-3").Status; n != 2 || status != "in_review" {
		t.Errorf("%d decisions were sent, FB-3 is %s", n, status)
	}
}
