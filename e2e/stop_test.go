package e2e

import (
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// The fleet is stopped by keyboard, from the palette on; every open page says so at once and
// keeps its focus, an agent gets nothing, and the release takes the bar away.
func TestTheFleetIsStoppedByKeyboard(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Port the prompt cache")
	agent := s.agent("ada")
	watcher, owner := s.visit(desktop), s.visit(desktop)
	watcher.logIn()
	watcher.live()
	card := "#card-fb-1 a.job-link"
	watcher.focus(card)
	owner.logIn()
	owner.key("Control+k")
	owner.types("stop the fleet")
	owner.sees("a[role=option][href='/stop'][aria-selected=true]")
	owner.key("Enter")
	owner.sees("#stop-form")
	owner.focus("#product")
	owner.tabTo("#hold")
	owner.must("choose", selectOption(owner, "#hold", "all"))
	owner.tabTo("#reason")
	owner.types("The model writes nonsense")
	owner.key("Enter")
	owner.sees("#stop-fleet:has-text('The model writes nonsense')")
	watcher.sees("#stopped:has-text('The whole fleet is stopped')")
	watcher.sees("#card-fb-1:has-text('is stopped by')")
	watcher.focused(card)
	got, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{})
	if err != nil || got.StatusCode() != 204 || got.HTTPResponse.Header.Get("X-Claim-Reason") != "stopped" {
		t.Fatalf("a claim while the fleet is stopped: %d, %v", got.StatusCode(), err)
	}
	owner.open("/jobs/FB-1")
	owner.sees("text=is stopped by")
	owner.open("/stop")
	owner.focus("#stop-fleet button")
	owner.key("Enter")
	owner.sees("#stops:has-text('Nothing is stopped')")
	watcher.gone("#stopped .note")
	watcher.focused(card)
	claim(t, agent)
}
