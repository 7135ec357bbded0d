package handlers

import (
	"encoding/base64"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/pquerna/otp/totp"

	"fleetboard/db/dbfactory"
	"fleetboard/views/links"
)

const otherPassword = "a kettle in the winter garden"

// browser is another browser of the same site.
func (s *site) browser() *site {
	return &site{Server: s.Server, db: s.db, cookies: map[string]*http.Cookie{}, log: s.log}
}

// signedIn reports whether the browser is taken for a person.
func (s *site) signedIn() bool { return s.get("/probe/who").StatusCode == http.StatusOK }

func TestAccountPage(t *testing.T) {
	s := ownedSite(t)
	s.logIn(t)
	res := s.get("/settings/account")
	wantStatus(t, res, http.StatusOK)
	doc := document(t, res)
	if email, _ := doc.Find("#email").Attr("value"); email != ownerEmail {
		t.Errorf("e-mail = %q", email)
	}
	if rows := doc.Find("#sessions tbody tr"); rows.Length() != 1 || !strings.Contains(rows.Text(), "This browser") || rows.Find("form").Length() != 0 {
		t.Errorf("sessions: %q", rows.Text())
	}

	long := strings.Repeat("x", 101)
	res = s.post("/settings/account", url.Values{"name": {long}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	doc = document(t, res)
	if typed, _ := doc.Find("#name").Attr("value"); typed != long || !strings.Contains(doc.Find("#name-e").Text(), "100") {
		t.Errorf("the typed name became %q with %q", typed, doc.Find("#name-e").Text())
	}
	wantRedirect(t, s.post("/settings/account", url.Values{"name": {"Ada <b>Lovelace</b>"}}), "/settings/account")
	doc = document(t, s.get("/settings/account"))
	if name, _ := doc.Find("#name").Attr("value"); name != "Ada <b>Lovelace</b>" || !strings.Contains(doc.Find(".toastx").Text(), "saved") {
		t.Errorf("name = %q, toast %q", name, doc.Find(".toastx").Text())
	}
}

func TestPasswordChange(t *testing.T) {
	s := ownedSite(t)
	s.probe()
	s.logIn(t)
	phone := s.browser()
	phone.logIn(t)
	res := s.post("/settings/account/password", url.Values{"current": {"not the password"}, "password": {otherPassword}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	if text := document(t, res).Find("#current-e").Text(); !strings.Contains(text, "not your password") {
		t.Errorf("at the current password: %q", text)
	}
	old := s.cookies["sid"].Value
	wantRedirect(t, s.post("/settings/account/password", url.Values{"current": {ownerPassword}, "password": {otherPassword}}), "/settings/account")
	if s.cookies["sid"].Value == old {
		t.Error("the token is the old one")
	}
	if !s.signedIn() || phone.signedIn() {
		t.Error("this browser was logged out, or the other one was not")
	}
	s.cookies["sid"].Value = old
	if s.signedIn() {
		t.Error("the old token opens the server")
	}
	wantRedirect(t, phone.post("/login", url.Values{"email": {ownerEmail}, "password": {otherPassword}}), "/board")
}

func TestSessionsAreEndedFromThePage(t *testing.T) {
	s := ownedSite(t)
	s.probe()
	s.logIn(t)
	phone, tablet := s.browser(), s.browser()
	r := request(http.MethodPost, "/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}})
	r.Header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1")
	wantRedirect(t, phone.do(r), "/board")
	tablet.logIn(t)

	row := document(t, s.get("/settings/account")).Find("#sessions tbody tr").FilterFunction(func(_ int, row *goquery.Selection) bool {
		return strings.Contains(row.Text(), "Safari on iOS")
	})
	end, ok := row.Find("form").Attr("action")
	if !ok {
		t.Fatalf("no way to end the phone's session: %q", row.Text())
	}
	end, _, _ = strings.Cut(end, "#")
	wantRedirect(t, s.post(end, nil), "/settings/account")
	if phone.signedIn() || !tablet.signedIn() || !s.signedIn() {
		t.Error("not exactly the phone was logged out")
	}
	wantStatus(t, s.post(end, nil), http.StatusNotFound)
	wantStatus(t, s.post("/settings/account/sessions/x/end", nil), http.StatusNotFound)

	wantRedirect(t, s.post("/settings/account/sessions/end-others", nil), "/settings/account")
	if tablet.signedIn() || !s.signedIn() {
		t.Error("not exactly the others were logged out")
	}
	tablet.logIn(t)
	res := s.post("/settings/account/sessions/end-all", nil)
	wantRedirect(t, res, "/login")
	if res.Header.Get("Clear-Site-Data") != `"cache", "storage"` {
		t.Errorf("Clear-Site-Data = %q", res.Header.Get("Clear-Site-Data"))
	}
	if tablet.signedIn() || s.signedIn() {
		t.Error("somebody is logged in")
	}
}

// secondFactor turns the second factor on and returns the secret and the codes.
func (s *site) secondFactor(t *testing.T) (secret string, codes []string) {
	t.Helper()
	wantRedirect(t, s.post("/settings/account/second-factor", url.Values{"current": {ownerPassword}}), "/settings/account/second-factor")
	doc := document(t, s.get("/settings/account/second-factor"))
	picture, _ := doc.Find("#factor img").Attr("src")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(picture, "data:image/png;base64,"))
	if err != nil {
		t.Fatalf("the picture is none: %v", err)
	}
	if _, err := png.Decode(strings.NewReader(string(raw))); err != nil {
		t.Fatalf("the picture is none: %v", err)
	}
	secret = strings.ReplaceAll(doc.Find("#secret").Text(), " ", "")

	res := s.post("/settings/account/second-factor/confirm", url.Values{"code": {"000000"}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	if text := document(t, res).Find("#code-e").Text(); !strings.Contains(text, "does not fit") {
		t.Errorf("at the code: %q", text)
	}
	// The step before now: the one of now is for the log in that follows.
	code, err := totp.GenerateCode(secret, time.Now().Add(-30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	res = s.post("/settings/account/second-factor/confirm", url.Values{"code": {code}})
	wantStatus(t, res, http.StatusOK)
	return secret, strings.Fields(document(t, res).Find("#codes pre").Text())
}

// Who joined by an identity provider sets a password without typing one, once.
// From then on it is asked for, and the provider is not the only way in.
func TestFirstPassword(t *testing.T) {
	s := ownedSite(t, withProvider(t))
	s.probe()
	s.joinVia(t, s.invite(t, graceThere.Email), graceThere)
	phone := s.browser()
	wantRedirect(t, phone.via(t, "/login/oidc", graceThere), links.Board)

	page := document(t, s.get(links.Account))
	part := page.Find("#password-part")
	if part.Find("#password").Length() != 1 || part.Find("#current").Length() != 0 || !strings.Contains(part.Text(), "you log in with Acme") {
		t.Errorf("the form is %q", part.Text())
	}
	if text := page.Find("#identity").Text(); !strings.Contains(text, "the only way into your account") || strings.Contains(text, "beside your password") {
		t.Errorf("about the provider: %q", text)
	}
	if factor := page.Find("#factor"); factor.Find("form").Length() != 0 || strings.Contains(factor.Text(), "the password alone") {
		t.Errorf("about the second factor: %q", factor.Text())
	}
	res := s.post(links.Password, url.Values{"password": {"password1234"}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	if text := document(t, res).Find("#password-e").Text(); !strings.Contains(text, "first passwords that are tried") {
		t.Errorf("at the field: %q", text)
	}
	before := s.cookies["sid"].Value
	wantRedirect(t, s.post(links.Password, url.Values{"password": {otherPassword}}), links.Account)
	if s.cookies["sid"].Value == before || !s.signedIn() || phone.signedIn() {
		t.Errorf("the token changed: %t; here: %t, elsewhere: %t", s.cookies["sid"].Value != before, s.signedIn(), phone.signedIn())
	}
	page = document(t, s.get(links.Account))
	if text := page.Find("#toasts").Text(); !strings.Contains(text, "Your password is set") {
		t.Errorf("toasts %q", text)
	}
	if page.Find("#password-part #current").Length() != 1 || page.Find("#factor-current").Length() != 1 ||
		!strings.Contains(page.Find("#identity").Text(), "beside your password") {
		t.Error("the page does not know of the password")
	}
	wantRedirect(t, phone.post("/login", url.Values{"email": {graceThere.Email}, "password": {otherPassword}}), links.Board)

	// The form of another tab, from before.
	res = s.post(links.Password, url.Values{"password": {"a stranger's own sentence"}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	if text := document(t, res).Find("#current-e").Text(); !strings.Contains(text, "not your password") || !phone.signedIn() {
		t.Errorf("at the current password: %q", text)
	}
	wantRedirect(t, s.post(links.IdentityUnlink, url.Values{}), links.Account)
	if text := document(t, s.get(links.Account)).Find("#toasts").Text(); !strings.Contains(text, "Acme is unlinked") {
		t.Errorf("toasts %q", text)
	}
}

func TestSecondFactorSetUp(t *testing.T) {
	s := ownedSite(t)
	s.probe()
	s.logIn(t)
	wantRedirect(t, s.get("/settings/account/second-factor"), "/settings/account")
	res := s.post("/settings/account/second-factor", url.Values{"current": {"not the password"}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	if text := document(t, res).Find("#factor-current-e").Text(); !strings.Contains(text, "not your password") {
		t.Errorf("at the password: %q", text)
	}
	before := s.cookies["sid"].Value
	_, codes := s.secondFactor(t)
	if len(codes) != 10 || s.cookies["sid"].Value == before || !s.signedIn() {
		t.Errorf("%d recovery codes; the token changed: %t", len(codes), s.cookies["sid"].Value != before)
	}
	page := document(t, s.get("/settings/account")).Find("#factor").Text()
	if !strings.Contains(page, "On: after the password") || !strings.Contains(page, "10 recovery codes are left") {
		t.Errorf("the page says %q", page)
	}
	res = s.post("/settings/account/recovery-codes", url.Values{"current": {ownerPassword}})
	wantStatus(t, res, http.StatusOK)
	if text := document(t, res).Find("#codes").Text(); strings.Contains(text, codes[0]) {
		t.Error("the new codes are the old ones")
	}
	res = s.post("/settings/account/second-factor/off", url.Values{"current": {"not the password"}})
	wantStatus(t, res, http.StatusUnprocessableEntity)
	wantRedirect(t, s.post("/settings/account/second-factor/off", url.Values{"current": {ownerPassword}}), "/settings/account")
	s.browser().logIn(t)
}

// With the password alone a browser has a session that opens nothing but the page
// for the code.
func TestLogInWithSecondFactor(t *testing.T) {
	s := ownedSite(t)
	s.probe()
	s.logIn(t)
	secret, _ := s.secondFactor(t)

	phone := s.browser()
	wantRedirect(t, phone.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}, "next": {"/agents"}}), "/login/code?next=%2Fagents")
	half := phone.cookies["sid"]
	if half.MaxAge > 5*60+1 {
		t.Errorf("half a session lasts %d seconds", half.MaxAge)
	}
	for _, target := range []string{"/probe/who", "/board", "/live?on=board", "/settings/account", "/settings/account/second-factor"} {
		if res := phone.get(target); res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), "/login") {
			t.Errorf("half a session: %s answers %d", target, res.StatusCode)
		}
	}
	for _, target := range []string{"/settings/account/second-factor/off", "/settings/account/password", "/settings/account/sessions/end-all"} {
		wantRedirect(t, phone.post(target, url.Values{"current": {ownerPassword}, "password": {otherPassword}}), "/login")
	}
	wantStatus(t, phone.get("/login"), http.StatusOK)
	doc := document(t, phone.get("/login/code?next=/agents"))
	field := doc.Find("#code")
	if auto, _ := field.Attr("autocomplete"); auto != "one-time-code" || field.AttrOr("inputmode", "") != "numeric" {
		t.Errorf("the field is for %q", auto)
	}
	res := phone.post("/login/code", url.Values{"code": {"000000"}, "next": {"/agents"}})
	wantStatus(t, res, http.StatusUnauthorized)
	if text := document(t, res).Find(`[role="alert"]`).Text(); !strings.Contains(text, "not right") {
		t.Errorf("alert %q", text)
	}
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wantRedirect(t, phone.post("/login/code", url.Values{"code": {code}, "next": {"/agents"}}), "/agents")
	if phone.cookies["sid"].Value == half.Value || phone.cookies["sid"].MaxAge < 11*3600 {
		t.Error("the token of the half session goes on")
	}
	if !phone.signedIn() {
		t.Error("not logged in")
	}
	// The half session is over, and its code used up.
	phone.cookies["sid"] = half
	wantRedirect(t, phone.post("/login/code", url.Values{"code": {code}}), "/login")
	tablet := s.browser()
	wantRedirect(t, tablet.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}}), "/login/code")
	wantStatus(t, tablet.post("/login/code", url.Values{"code": {code}}), http.StatusUnauthorized)
}

func TestHalfSessionEnds(t *testing.T) {
	s := ownedSite(t)
	s.logIn(t)
	_, codes := s.secondFactor(t)
	wantRedirect(t, s.browser().get("/login/code?next=/agents"), "/login?next=%2Fagents")

	late := s.browser()
	wantRedirect(t, late.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}}), "/login/code")
	dbfactory.Exec(t, s.db, "UPDATE session SET expires_at = now() - interval '1 second' WHERE half")
	wantRedirect(t, late.post("/login/code", url.Values{"code": {codes[0]}}), "/login")

	// Whoever knew the old password gets no further with a code.
	thief := s.browser()
	wantRedirect(t, thief.post("/login", url.Values{"email": {ownerEmail}, "password": {ownerPassword}}), "/login/code")
	wantRedirect(t, s.post("/settings/account/password", url.Values{"current": {ownerPassword}, "password": {otherPassword}}), "/settings/account")
	wantRedirect(t, thief.post("/login/code", url.Values{"code": {codes[0]}}), "/login")
}

func TestBrowserName(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                  "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36":                         "Chrome on Windows",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":           "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15":                   "Safari on macOS",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36":                         "Chrome on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile/15E148 Safari/604.1":  "Chrome on iOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1": "Safari on iOS",
		"curl/8.0": "A browser", "": "A browser", "<script>alert(1)</script>": "A browser", "Firefox/1 on my toaster": "Firefox",
	} {
		if got := browserName(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}
