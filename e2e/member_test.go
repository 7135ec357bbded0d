package e2e

import (
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

const guestPassword = "another quiet room 7"

// tabBeside opens another tab of the same browser.
func (v *visitor) tabBeside(path string) *visitor {
	v.t.Helper()
	tab, err := v.tab.Context().NewPage()
	v.must("open a tab", err)
	other := &visitor{t: v.t, s: v.s, tab: tab}
	complaints := other.listen()
	v.t.Cleanup(func() {
		for _, c := range complaints() {
			v.t.Errorf("the other tab says: %s", c)
		}
	})
	other.open(path)
	return other
}

// An owner invites somebody, who makes an account without scripts on a phone,
// gets another role, makes a workspace and leaves the first one.
func TestSomebodyIsInvited(t *testing.T) {
	t.Parallel()
	s := ownServer(t) // people are of the whole server
	s.submit("Round half to even")
	owner := s.visit(desktop)
	owner.logIn()
	owner.must("press g", owner.tab.Keyboard().Press("g"))
	owner.must("press s", owner.tab.Keyboard().Press("s"))
	owner.must("reach the settings", owner.tab.WaitForURL("**/settings/account"))
	owner.click(".settings-nav >> text=Members")
	owner.sees("#own:has-text('You are the last owner')")
	owner.fill("#email", "bob@kestrel.example")
	owner.click("#invite-form button[type=submit]")
	owner.sees("#new-link:has-text('Send this link to bob@kestrel.example')")
	link, err := owner.tab.Locator("#new-link pre").TextContent()
	owner.must("read the link", err)

	guest := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	guest.open(link)
	guest.sees("h1:has-text('Join Default')")
	guest.fill("#name", "Bob Lee")
	guest.fill("#password", guestPassword)
	guest.click("#join button[type=submit]")
	guest.must("reach the board", guest.tab.WaitForURL("**/board"))
	guest.sees("#toasts:has-text('You are in Default')")
	guest.open(link)
	guest.sees("main:has-text('Ask for a new one.')")

	owner.open("/settings/members")
	row := "tr:has-text('bob@kestrel.example')"
	if err := selectOption(owner, row+" select", "admin"); err != nil {
		t.Fatal(err)
	}
	owner.click(row + " button:has-text('Change')")
	owner.sees("#toasts:has-text('The member is an admin now.')")

	guest.open("/settings/workspace")
	guest.fill("#new_name", "Bob's bench")
	guest.click("#create-form button[type=submit]")
	guest.sees("#toasts:has-text('s bench was created')")
	guest.open("/jobs/FB-1")
	guest.sees("main:has-text('Back to the board')")

	// The owner takes him out: he goes on in his own workspace.
	owner.open("/settings/members")
	owner.click(row + " button:has-text('Remove')")
	owner.click("dialog[open] button:has-text('Remove Bob Lee')")
	owner.sees("#toasts:has-text('The member was removed')")
	guest.open("/settings/members")
	guest.sees("#own:has-text('You are an owner of this workspace.')")
}

// What an old tab sends after a switch in another one changes nothing; it says
// so, and is live again after the switch back.
func TestTwoTabsInTwoWorkspaces(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Round half to even")
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.live()
	old := v.tabBeside("/jobs/new")
	old.fill("#title", "Meant for the first workspace")

	other := v.tabBeside("/settings/workspace#new")
	other.fill("#new_name", "Second")
	other.click("#create-form button[type=submit]")
	other.sees("#workspace-btn:has-text('Second')")

	old.click("#job-form button[type=submit]")
	old.sees("#toasts:has-text('You switched to another workspace in another tab')")
	old.sees("#toasts:has-text('The page is of Default, and you are in Second now. Nothing was changed.')")
	old.has("#title", "Meant for the first workspace")

	v.click("button[commandfor=dlg-block]")
	v.fill("dialog[open] [name=reason]", "Not now")
	v.click("dialog[open] button[type=submit]")
	v.sees("#toasts:has-text('You switched to another workspace')")
	// Its stream notices within a few seconds.
	note := v.tab.Locator("#stale-note")
	v.must("see the note", note.WaitFor(playwright.LocatorWaitForOptions{Timeout: playwright.Float(float64(15 * time.Second / time.Millisecond))}))

	v.click("#stale-note button")
	v.sees("#toasts:has-text('You are in Default')")
	v.sees("h1:has-text('Round half to even')")
	v.live()
}
