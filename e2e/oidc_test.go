package e2e

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
)

// The people of the identity provider, and its client: the server.
const (
	idpPeople = "sub-grace grace verysecure Grace Hopper grace@navy.example\n" +
		"sub-eve eve verysecure Eve Newman eve@new.example\n"
	idpSecret = "a-secret-of-the-provider"
)

// startWithProvider starts a server and, as another process, an OpenID Connect
// provider that it calls Acme.
func startWithProvider(t *testing.T) *server {
	t.Helper()
	listen := freeAddress(t)
	issuer := startProvider(t, "http://"+listen+"/login/oidc/callback")
	return start(t, t.TempDir(), "DATABASE_URL="+dbtest.URL(t), "FLEETBOARD_ADMIN_EMAIL="+ownerEmail, "FLEETBOARD_ADMIN_PASSWORD="+ownerPassword,
		"FLEETBOARD_LISTEN="+listen, "FLEETBOARD_OIDC_ISSUER="+issuer, "FLEETBOARD_OIDC_CLIENT_ID=fleetboard",
		"FLEETBOARD_OIDC_CLIENT_SECRET="+idpSecret, "FLEETBOARD_OIDC_NAME=Acme")
}

// freeAddress returns one that nobody listens on: the provider has to know it before
// the server starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// startProvider starts the provider and gives its address.
func startProvider(t *testing.T, redirect string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "idp")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/fleetboard/fleetboard/e2e/idp").CombinedOutput(); err != nil {
		t.Fatalf("build the provider: %v\n%s", err, out)
	}
	cmd := exec.Command(binary) //nolint:noctx // ended below
	cmd.Env = append(os.Environ(), "IDP_CLIENT=fleetboard "+idpSecret+" "+redirect, "IDP_PEOPLE="+idpPeople)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	scan := bufio.NewScanner(out)
	if !scan.Scan() {
		t.Fatal("the provider does not say where it is")
	}
	return scan.Text()
}

// atProvider fills the provider's form in.
func (v *visitor) atProvider(name string) {
	v.t.Helper()
	v.must("reach the provider", v.tab.WaitForURL("http://localhost:*/login/username?**"))
	v.fill("#username", name)
	v.fill("#password", "verysecure")
	v.click("button[type=submit]")
}

// sid returns the value of the session's cookie.
func (v *visitor) sid() string {
	v.t.Helper()
	cookies, err := v.tab.Context().Cookies(v.s.url)
	v.must("cookies", err)
	for _, c := range cookies {
		if c.Name == "sid" {
			return c.Value
		}
	}
	return ""
}

// atBoard waits for the board, with nothing of the way there left in the address.
func (v *visitor) atBoard() {
	v.t.Helper()
	v.must("reach the board", v.tab.WaitForURL("**/board"))
}

// A person links an identity, logs in with it, and unlinks it.
func TestAPersonLogsInWithAnIdentityProvider(t *testing.T) {
	t.Parallel()
	s := startWithProvider(t)
	owner := s.visit(desktop)
	owner.logIn()
	owner.open("/settings/account")
	owner.click("#identity >> text=Link Acme")
	owner.atProvider("grace")
	owner.sees("#identity-confirm:has-text('grace@navy.example')")
	owner.fill("#current", "not the password")
	owner.click("text=Link it")
	owner.sees("#current-e")
	owner.fill("#current", ownerPassword)
	owner.click("text=Link it")
	owner.sees("#toasts:has-text('Acme is linked')")
	owner.sees("#identity:has-text('grace@navy.example')")

	// The session gets another token with each log in.
	other := s.visit(desktop)
	var tokens []string
	for range 2 {
		other.open("/agents")
		other.click("text=Log in with Acme")
		other.must("reach the provider", other.tab.WaitForURL("http://localhost:*/login/username?**"))
		tokens = append(tokens, other.sid())
		other.atProvider("grace")
		other.must("reach the page that was asked for", other.tab.WaitForURL(s.url+"/agents"))
		tokens = append(tokens, other.sid())
		other.open("about:blank") // whose stream is not refused at the log-out
		_, err := other.tab.Context().Request().Post(s.url + "/logout")
		other.must("log out", err)
	}
	seen := map[string]bool{}
	for _, token := range tokens {
		if token == "" || seen[token] {
			t.Errorf("the session tokens are %d times different, want %d times", len(seen), len(tokens))
		}
		seen[token] = true
	}

	// Somebody whom the provider knows and this server does not.
	other.open("/login")
	other.click("text=Log in with Acme")
	other.atProvider("eve")
	other.sees("h1:has-text('No account belongs to you yet')")
	other.sees("main:has-text('eve@new.example')")
	// An answer works once.
	_, err := other.tab.Reload()
	other.must("reload", err)
	other.sees("h1:has-text('This log in is over')")

	owner.open("/settings/account")
	owner.click("#identity button:has-text('Unlink')")
	owner.click("#dlg-unlink-identity[open] button:has-text('Unlink')")
	owner.sees("#toasts:has-text('Acme is unlinked')")
	owner.sees("#identity >> text=Link Acme")
	other.click("text=Try again")
	other.atProvider("grace")
	other.sees("h1:has-text('No account belongs to you yet')")
	s.neverLogged(t, idpSecret, "code=", "state=")
}

// Somebody new accepts an invitation without a password, without scripts too.
func TestSomebodyJoinsWithAnIdentityProvider(t *testing.T) {
	t.Parallel()
	s := startWithProvider(t)
	owner := s.visit(desktop)
	owner.logIn()
	owner.open("/settings/members")
	owner.fill("#invite-form #email", "eve@kestrel.example")
	owner.click("#invite-form button[type=submit]")
	owner.sees("#new-link")
	link, err := owner.tab.Locator("#new-link [data-copy]").GetAttribute("data-copy")
	owner.must("the link", err)

	eve := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	eve.open(strings.TrimSpace(link))
	eve.click("text=Continue with Acme")
	eve.atProvider("eve")
	eve.sees("#who-joins:has-text('eve@new.example')")
	eve.click("#join button[type=submit]")
	eve.atBoard()
	eve.sees("#toasts:has-text('You are in Default')")
	eve.open("/settings/account")
	eve.sees("#identity:has-text('eve@new.example')")
	eve.sees("#identity:has-text('the only way into your account')")

	again := s.visit(desktop)
	again.open("/login")
	again.click("text=Log in with Acme")
	again.atProvider("eve")
	again.atBoard()
	s.neverLogged(t, idpSecret, "code=", "state=", "invitation=")
}

// neverLogged looks for what must not be in the server's log.
func (s *server) neverLogged(t *testing.T, secrets ...string) {
	t.Helper()
	if !strings.Contains(s.logs.String(), "logged in by the identity provider") {
		t.Error("the log tells of no log in at all")
	}
	for _, secret := range secrets {
		if strings.Contains(s.logs.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}
