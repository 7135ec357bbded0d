package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// focus gives an element the focus, as a person who tabs to it does.
func (v *visitor) focus(selector string) {
	v.t.Helper()
	v.must("focus "+selector, v.tab.Locator(selector).First().Focus())
	v.focused(selector)
}

// types writes at the keyboard, into what has the focus.
func (v *visitor) types(text string) {
	v.t.Helper()
	v.must("type", v.tab.Keyboard().Type(text))
}

// tabTo presses Tab until an element has the focus.
func (v *visitor) tabTo(selector string) {
	v.t.Helper()
	for range 12 {
		v.key("Tab")
		at, err := v.tab.Evaluate("(selector) => document.activeElement?.matches(selector)", selector)
		v.must("look for the focus", err)
		if at == true {
			return
		}
	}
	v.t.Fatalf("Tab does not reach %s at %s", selector, v.tab.URL())
}

// invites lets somebody join, who stands at the board then.
func (v *visitor) invites(email, name, role string) *visitor {
	v.t.Helper()
	v.open("/settings/members")
	v.fill("#email", email)
	v.must("choose a role", selectOption(v, "#role", role))
	v.click("#invite-form button[type=submit]")
	link, err := v.tab.Locator("#new-link pre").TextContent()
	v.must("read the link", err)
	guest := v.s.visit(desktop)
	guest.open(link)
	guest.fill("#name", name)
	guest.fill("#password", guestPassword)
	guest.click("#join button[type=submit]")
	guest.must("reach the board", guest.tab.WaitForURL("**/board"))
	return guest
}

// A role is changed by keyboard and back by mouse; what it allows follows at once.
func TestARoleIsChanged(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, email := s.visit(desktop), fmt.Sprintf("bob-%s@kestrel.example", ids.New())
	owner.logIn()
	guest := owner.invites(email, "Bob Lee", "viewer")
	guest.open("/agents")
	guest.gone("nav[aria-label=Main] a[href='/jobs/new']")

	owner.open("/settings/members")
	row := "tr:has-text('" + email + "')"
	owner.focus(row + " select")
	owner.key("m")
	owner.tabTo("tr form button")
	owner.key("Enter")
	owner.sees("#toasts:has-text('The member is a member now.')")
	guest.open("/agents")
	guest.click("nav[aria-label=Main] a[href='/jobs/new']")
	guest.fill("#title", "Round half to even")

	owner.must("choose a role", selectOption(owner, row+" select", "viewer"))
	owner.click(row + " button:has-text('Change')")
	owner.sees("#toasts:has-text('The member is a viewer now.')")
	guest.click("#main button[type=submit]:has-text('Create')")
	guest.sees("text=Your role in this workspace does not allow")
}

// A password is changed by keyboard: what is wrong is said at its field, and afterwards only the
// new one opens the door.
func TestAPasswordIsChanged(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/account")
	v.focus("#current")
	v.types("not my password")
	v.key("Enter")
	v.sees("#password-e:has-text('It is empty. Use at least 12 characters.')")
	v.focus("#current")
	v.key("Control+a")
	v.types("not my password")
	v.tabTo("#password")
	v.types(guestPassword)
	v.key("Enter")
	v.sees("#current-e:has-text('This is not your password.')")
	v.focus("#current")
	v.key("Control+a")
	v.types(ownerPassword)
	v.tabTo("#password")
	v.key("Control+a")
	v.types(guestPassword)
	v.key("Enter")
	v.sees("#toasts:has-text('Your password is changed')")

	other := s.visit(desktop)
	other.open("/login")
	other.fill("#email", s.email)
	other.fill("#password", ownerPassword)
	other.click("button[type=submit]")
	other.sees("text=This e-mail and password do not fit together.")
	other.fill("#password", guestPassword)
	other.key("Enter")
	other.must("reach the board", other.tab.WaitForURL("**/board"))
}

// A token is made by keyboard and acts; Escape keeps it, and revoked it is refused.
func TestATokenIsMadeAndRevoked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Round half to even")
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/tokens")
	v.focus("#own-tokens a:has-text('New token of yours')")
	v.key("Enter")
	v.focused("#name")
	v.types("night script")
	v.key("Enter")
	v.sees("#new-token")
	plain, err := v.tab.Locator("#new-token pre").TextContent()
	v.must("read the token", err)
	script := s.client(plain)
	status := func() int {
		answer, err := script.ListJobsWithResponse(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode()
	}
	if got := status(); got != http.StatusOK {
		t.Fatalf("the token is answered %d", got)
	}
	v.open("/settings/tokens")
	v.gone("#new-token")
	row := "#own-tokens tr:has-text('night script')"
	v.focus(row + " button")
	v.key("Enter")
	v.sees("dialog[open] h3:has-text('Revoke night script?')")
	v.key("Escape")
	v.gone("dialog[open]")
	v.focused(row + " button")
	if got := status(); got != http.StatusOK {
		t.Fatalf("after Escape the token is answered %d", got)
	}
	v.key("Enter")
	v.sees("dialog[open]")
	v.tabTo("dialog[open] button.btn-error")
	v.key("Enter")
	v.sees("#toasts:has-text('The token was revoked')")
	v.sees(row + ":has-text('Revoked')")
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("the revoked token is answered %d", got)
	}
}

// A product is paused by keyboard, which holds its jobs, and goes on by mouse.
func TestAProductIsPaused(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-1")
	s.submit("Round half to even")
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/products")
	v.focus("tr[data-product=default] button:has-text('Pause')")
	v.key("Enter")
	v.sees("tr[data-product=default]:has-text('Paused')")
	v.open("/board")
	v.sees(card("FB-1", "ready") + ":has-text('Its product default is paused')")
	answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{})
	if err != nil || answer.JSON200 != nil && len(answer.JSON200.Jobs) > 0 {
		t.Fatalf("a paused product's job is claimed: %v %s", err, body(answer))
	}
	v.open("/settings/products")
	v.click("tr[data-product=default] button:has-text('Go on')")
	v.sees("#toasts:has-text('default goes on')")
	v.must("nothing is paused", playwright.NewPlaywrightAssertions(timeout).Locator(
		v.tab.Locator("tr[data-product=default] .st-paused")).ToHaveCount(0))
	if key := claim(t, agent); key != "FB-1" {
		t.Errorf("claimed %s", key)
	}
}
