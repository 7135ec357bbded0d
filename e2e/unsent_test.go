package e2e

import (
	"testing"

	"github.com/playwright-community/playwright-go"
)

const notSent = "[data-unsent]:has-text('What you typed is still here')"

// An outage eats no text: a form that gets no answer says so where it is, and is
// sent again when the server is back. What a browser closed in between is kept as a
// draft on the device, without its secrets.
func TestAnOutageEatsNoText(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	v := s.visit(desktop)
	v.outages = true
	v.logIn()
	v.open("/jobs/new")
	v.fill("#title", "Outlive the outage")
	v.fill("#body", "A long text.")
	v.fill("#criteria li:last-child input", "It is still there")
	v.fill("#secrets", "TOKEN=hush-hush")
	url := s.url
	s.kill()
	v.click("button:has-text('Create job')")
	v.sees("#job-form " + notSent)
	v.has("#title", "Outlive the outage")
	v.has("#body", "A long text.")

	s.restartAt(url)
	v.open("/jobs/new")
	v.sees("text=Your draft of")
	v.has("#title", "Outlive the outage")
	v.has("#body", "A long text.")
	v.has("#criteria li:first-child input", "It is still there")
	v.has("#secrets", "")
	v.click("button:has-text('Create job')")
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	v.sees("h1:has-text('Outlive the outage')")
	if number := keyInURL.FindStringSubmatch(v.tab.URL())[1]; number != "FB-1" {
		t.Errorf("the draft became %s: it made more than one job", number)
	}
	v.open("/jobs/new")
	v.has("#title", "")
}

// Where somebody else signs in on the device after a session has ended by itself,
// drafts stay with whom they are of.
func TestADraftIsShownToItsAuthorOnly(t *testing.T) {
	t.Parallel()
	s := ownServer(t) // people are of the whole server
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/members")
	v.fill("#email", "bob@kestrel.example")
	v.click("#invite-form button[type=submit]")
	link, err := v.tab.Locator("#new-link pre").TextContent()
	v.must("read the link", err)
	v.open("/jobs/new")
	v.fill("#title", "Mine alone")
	v.sees("text=Draft kept on this device")
	v.must("end the session", v.tab.Context().ClearCookies())

	v.open(link)
	v.fill("#name", "Bob Lee")
	v.fill("#password", guestPassword)
	v.click("#join button[type=submit]")
	v.must("reach the board", v.tab.WaitForURL("**/board"))
	v.open("/jobs/new")
	v.fill("#title", "Bob's")
	v.sees("text=Draft kept on this device")

	v.must("end the session", v.tab.Context().ClearCookies())
	v.logIn()
	v.open("/jobs/new")
	v.sees("text=Your draft of")
	v.has("#title", "Mine alone")
}

// A refused form comes back in its page, and keeps the secrets that were typed.
func TestARefusedFormStaysInItsPage(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/new")
	v.fill("#secrets", "TOKEN=hush-hush")
	v.must("mark the page", mark(v))
	v.click("button:has-text('Create job')")
	v.sees("#title-e")
	v.has("#secrets", "TOKEN=hush-hush")
	if !marked(v) {
		t.Error("the page was loaded again")
	}
	v.fill("#title", "Named now")
	v.click("button:has-text('Create job')")
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
}

// So do the forms of settings, and those before one is logged in.
func TestEachFormIsSentInPlace(t *testing.T) {
	t.Parallel()
	s := ownServer(t)
	v := s.visit(desktop)
	v.outages = true
	v.logIn()
	v.open("/settings/workspace")
	v.fill("#rename-form input[name=name]", "Renamed while down")
	url := s.url
	s.kill()
	v.click("#rename-form button")
	v.sees("#rename-form " + notSent)
	s.restartAt(url)
	v.click("#rename-form button")
	v.sees(".ws:has-text('Renamed while down')")

	stranger := s.visit(desktop)
	stranger.outages = true
	stranger.open("/login")
	stranger.fill("#email", ownerEmail)
	stranger.fill("#password", ownerPassword)
	s.kill()
	stranger.click("button:has-text('Log in')")
	stranger.sees(notSent)
	stranger.has("#email", ownerEmail)
	s.restartAt(url)
	stranger.click("button:has-text('Log in')")
	stranger.must("reach the board", stranger.tab.WaitForURL("**/board"))
}

// has asserts the value of a field.
func (v *visitor) has(selector, value string) {
	v.t.Helper()
	field := v.tab.Locator(selector)
	if err := playwright.NewPlaywrightAssertions(timeout).Locator(field).ToHaveValue(value); err != nil {
		v.t.Fatalf("%s: %v", selector, err)
	}
}
