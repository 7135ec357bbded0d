package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

// secondFactor turns the second factor on and returns the app's secret and the
// recovery codes.
func (v *visitor) secondFactor() (secret string, codes []string) {
	v.t.Helper()
	v.open("/settings/account")
	v.fill("#factor-current", ownerPassword)
	v.click("#factor button[type=submit]")
	v.sees("#factor img")
	text, err := v.tab.Locator("#secret").TextContent()
	v.must("read the secret", err)
	secret = strings.ReplaceAll(text, " ", "")
	v.fill("#code", "000000")
	v.click("#confirm button[type=submit]")
	v.sees("#code-e:has-text('does not fit')")
	// The step before now: the one of now is for the log in that follows.
	v.fill("#code", v.appCode(secret, -30*time.Second))
	v.click("#confirm button[type=submit]")
	v.sees("#codes pre")
	text, err = v.tab.Locator("#codes pre").TextContent()
	v.must("read the codes", err)
	return secret, strings.Fields(text)
}

func (v *visitor) appCode(secret string, shift time.Duration) string {
	v.t.Helper()
	code, err := totp.GenerateCode(secret, time.Now().Add(shift))
	v.must("make a code", err)
	return code
}

// A person turns the second factor on, logs out, and comes back with a code; a
// second browser comes with a recovery code, and is logged out from the first.
func TestASecondFactorIsAskedFor(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	secret, codes := v.secondFactor()
	if len(codes) != 10 {
		t.Fatalf("recovery codes: %q", codes)
	}
	v.click("text=I have kept them")
	v.sees("#factor:has-text('10 recovery codes are left')")
	v.click("#sessions button:has-text('Log out everywhere')")
	v.click("#dlg-all[open] button:has-text('Log out everywhere')")
	v.sees("h1:has-text('Log in')")

	v.fill("#email", s.email)
	v.fill("#password", ownerPassword)
	v.click("button[type=submit]")
	v.sees("h1:has-text('One more step')")
	v.open("/board") // the password alone opens nothing
	v.sees("h1:has-text('Log in')")
	v.open("/login/code?next=/agents")
	v.fill("#code", v.appCode(secret, 0))
	v.click("button[type=submit]")
	v.must("reach the agents", v.tab.WaitForURL("**/agents"))

	other := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	other.open("/login")
	other.fill("#email", s.email)
	other.fill("#password", ownerPassword)
	other.click("button[type=submit]")
	other.fill("#code", codes[0])
	other.click("button[type=submit]")
	other.must("reach the board", other.tab.WaitForURL("**/board"))

	v.open("/settings/account")
	v.sees("#factor:has-text('9 recovery codes are left')")
	v.click("#sessions tr:not(:has-text('This browser')) button:has-text('Log out')")
	v.sees("#toasts:has-text('That browser is logged out')")
	other.open("/board")
	other.sees("h1:has-text('Log in')")
}

// Without scripts the whole page works.
func TestAnAccountWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(look{theme: "light", width: 390, height: 844, noScript: true})
	v.logIn()
	v.open("/settings/account")
	v.fill("#name", "Ada Lovelace")
	v.click("#account button[type=submit]")
	v.sees("#toasts:has-text('Your name is saved')")
	v.fill("#current", ownerPassword)
	v.fill("#password", "a kettle in the winter garden")
	v.click("#password-part button[type=submit]")
	v.sees("#toasts:has-text('Your password is changed')")
	v.click("#sessions a:has-text('Log out everywhere')")
	// A click would wait for the dialog to rest, by a timer that is off here.
	v.must("log out everywhere", v.tab.Locator("#dlg-all button[type=submit]").Press("Enter"))
	v.sees("h1:has-text('Log in')")
}
