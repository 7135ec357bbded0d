package settings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/pquerna/otp/totp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/views/links"
)

func TestAccountPage(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.LogIn(t)
	res := s.Get("/settings/account")
	handlertest.WantStatus(t, res, http.StatusOK)
	doc := handlertest.Document(t, res)
	if email, _ := doc.Find("#email").Attr("value"); email != handlertest.OwnerEmail {
		t.Errorf("e-mail = %q", email)
	}
	if rows := doc.Find("#sessions tbody tr"); rows.Length() != 1 || !strings.Contains(rows.Text(), "This browser") || rows.Find("form").Length() != 0 {
		t.Errorf("sessions: %q", rows.Text())
	}

	long := strings.Repeat("x", 101)
	res = s.Post("/settings/account", url.Values{"name": {long}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	doc = handlertest.Document(t, res)
	if typed, _ := doc.Find("#name").Attr("value"); typed != long || !strings.Contains(doc.Find("#name-e").Text(), "100") {
		t.Errorf("the typed name became %q with %q", typed, doc.Find("#name-e").Text())
	}
	handlertest.WantRedirect(t, s.Post("/settings/account", url.Values{"name": {"Ada <b>Lovelace</b>"}}), "/settings/account")
	doc = handlertest.Document(t, s.Get("/settings/account"))
	if name, _ := doc.Find("#name").Attr("value"); name != "Ada <b>Lovelace</b>" || !strings.Contains(doc.Find(".toastx").Text(), "saved") {
		t.Errorf("name = %q, toast %q", name, doc.Find(".toastx").Text())
	}
}

func TestPasswordChange(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.LogIn(t)
	phone := s.Browser()
	phone.LogIn(t)
	res := s.Post("/settings/account/password", url.Values{"current": {"not the password"}, "password": {handlertest.OtherPassword}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	if text := handlertest.Document(t, res).Find("#current-e").Text(); !strings.Contains(text, "not your password") {
		t.Errorf("at the current password: %q", text)
	}
	old := s.Cookies["sid"].Value
	handlertest.WantRedirect(t, s.Post("/settings/account/password", url.Values{"current": {handlertest.OwnerPassword}, "password": {handlertest.OtherPassword}}), "/settings/account")
	if s.Cookies["sid"].Value == old {
		t.Error("the token is the old one")
	}
	if !s.SignedIn() || phone.SignedIn() {
		t.Error("this browser was logged out, or the other one was not")
	}
	s.Cookies["sid"].Value = old
	if s.SignedIn() {
		t.Error("the old token opens the server")
	}
	handlertest.WantRedirect(t, phone.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OtherPassword}}), "/board")
}

func TestSessionsAreEndedFromThePage(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.LogIn(t)
	phone, tablet := s.Browser(), s.Browser()
	r := handlertest.Request(http.MethodPost, "/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}})
	r.Header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1")
	handlertest.WantRedirect(t, phone.Do(r), "/board")
	tablet.LogIn(t)

	row := handlertest.Document(t, s.Get("/settings/account")).Find("#sessions tbody tr").FilterFunction(func(_ int, row *goquery.Selection) bool {
		return strings.Contains(row.Text(), "Safari on iOS")
	})
	end, ok := row.Find("form").Attr("action")
	if !ok {
		t.Fatalf("no way to end the phone's session: %q", row.Text())
	}
	end, _, _ = strings.Cut(end, "#")
	handlertest.WantRedirect(t, s.Post(end, nil), "/settings/account")
	if phone.SignedIn() || !tablet.SignedIn() || !s.SignedIn() {
		t.Error("not exactly the phone was logged out")
	}
	handlertest.WantStatus(t, s.Post(end, nil), http.StatusNotFound)
	handlertest.WantStatus(t, s.Post("/settings/account/sessions/x/end", nil), http.StatusNotFound)

	handlertest.WantRedirect(t, s.Post("/settings/account/sessions/end-others", nil), "/settings/account")
	if tablet.SignedIn() || !s.SignedIn() {
		t.Error("not exactly the others were logged out")
	}
	tablet.LogIn(t)
	res := s.Post("/settings/account/sessions/end-all", nil)
	handlertest.WantRedirect(t, res, "/login")
	if res.Header.Get("Clear-Site-Data") != `"cache", "storage"` {
		t.Errorf("Clear-Site-Data = %q", res.Header.Get("Clear-Site-Data"))
	}
	if tablet.SignedIn() || s.SignedIn() {
		t.Error("somebody is logged in")
	}
}

// Who joined by an identity provider sets a password without typing one, once.
// From then on it is required, and the provider is not the only way in.
func TestFirstPassword(t *testing.T) {
	s := handlertest.OwnedSite(t, handlertest.WithProvider(t))
	s.Probe()
	s.JoinVia(t, s.Invite(t, handlertest.GraceThere.Email), handlertest.GraceThere)
	phone := s.Browser()
	handlertest.WantRedirect(t, phone.Via(t, "/login/oidc", handlertest.GraceThere), links.Board)

	page := handlertest.Document(t, s.Get(links.Account))
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
	res := s.Post(links.Password, url.Values{"password": {"password1234"}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	if text := handlertest.Document(t, res).Find("#password-e").Text(); !strings.Contains(text, "first passwords that are tried") {
		t.Errorf("at the field: %q", text)
	}
	before := s.Cookies["sid"].Value
	handlertest.WantRedirect(t, s.Post(links.Password, url.Values{"password": {handlertest.OtherPassword}}), links.Account)
	if s.Cookies["sid"].Value == before || !s.SignedIn() || phone.SignedIn() {
		t.Errorf("the token changed: %t; here: %t, elsewhere: %t", s.Cookies["sid"].Value != before, s.SignedIn(), phone.SignedIn())
	}
	page = handlertest.Document(t, s.Get(links.Account))
	if text := page.Find("#toasts").Text(); !strings.Contains(text, "Your password is set") {
		t.Errorf("toasts %q", text)
	}
	if page.Find("#password-part #current").Length() != 1 || page.Find("#factor-current").Length() != 1 ||
		!strings.Contains(page.Find("#identity").Text(), "beside your password") {
		t.Error("the page does not know of the password")
	}
	handlertest.WantRedirect(t, phone.Post("/login", url.Values{"email": {handlertest.GraceThere.Email}, "password": {handlertest.OtherPassword}}), links.Board)

	// The form of another tab, from before.
	res = s.Post(links.Password, url.Values{"password": {"a stranger's own sentence"}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	if text := handlertest.Document(t, res).Find("#current-e").Text(); !strings.Contains(text, "not your password") || !phone.SignedIn() {
		t.Errorf("at the current password: %q", text)
	}
	handlertest.WantRedirect(t, s.Post(links.IdentityUnlink, url.Values{}), links.Account)
	if text := handlertest.Document(t, s.Get(links.Account)).Find("#toasts").Text(); !strings.Contains(text, "Acme is unlinked") {
		t.Errorf("toasts %q", text)
	}
}

func TestSecondFactorSetUp(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.LogIn(t)
	handlertest.WantRedirect(t, s.Get("/settings/account/second-factor"), "/settings/account")
	res := s.Post("/settings/account/second-factor", url.Values{"current": {"not the password"}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	if text := handlertest.Document(t, res).Find("#factor-current-e").Text(); !strings.Contains(text, "not your password") {
		t.Errorf("at the password: %q", text)
	}
	before := s.Cookies["sid"].Value
	_, codes := s.SecondFactor(t)
	if len(codes) != 10 || s.Cookies["sid"].Value == before || !s.SignedIn() {
		t.Errorf("%d recovery codes; the token changed: %t", len(codes), s.Cookies["sid"].Value != before)
	}
	page := handlertest.Document(t, s.Get("/settings/account")).Find("#factor").Text()
	if !strings.Contains(page, "On: after the password") || !strings.Contains(page, "10 recovery codes are left") {
		t.Errorf("the page says %q", page)
	}
	res = s.Post("/settings/account/recovery-codes", url.Values{"current": {handlertest.OwnerPassword}})
	handlertest.WantStatus(t, res, http.StatusOK)
	if text := handlertest.Document(t, res).Find("#codes").Text(); strings.Contains(text, codes[0]) {
		t.Error("the new codes are the old ones")
	}
	res = s.Post("/settings/account/second-factor/off", url.Values{"current": {"not the password"}})
	handlertest.WantStatus(t, res, http.StatusUnprocessableEntity)
	handlertest.WantRedirect(t, s.Post("/settings/account/second-factor/off", url.Values{"current": {handlertest.OwnerPassword}}), "/settings/account")
	s.Browser().LogIn(t)
}

// With the password alone a browser has a session that opens nothing but the page
// for the code.
func TestLogInWithSecondFactor(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.Probe()
	s.LogIn(t)
	secret, _ := s.SecondFactor(t)

	phone := s.Browser()
	handlertest.WantRedirect(t, phone.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}, "next": {"/agents"}}), "/login/code?next=%2Fagents")
	half := phone.Cookies["sid"]
	if half.MaxAge > 5*60+1 {
		t.Errorf("half a session lasts %d seconds", half.MaxAge)
	}
	for _, target := range []string{"/probe/who", "/board", "/live?on=board", "/settings/account", "/settings/account/second-factor"} {
		if res := phone.Get(target); res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), "/login") {
			t.Errorf("half a session: %s answers %d", target, res.StatusCode)
		}
	}
	for _, target := range []string{"/settings/account/second-factor/off", "/settings/account/password", "/settings/account/sessions/end-all"} {
		handlertest.WantRedirect(t, phone.Post(target, url.Values{"current": {handlertest.OwnerPassword}, "password": {handlertest.OtherPassword}}), "/login")
	}
	handlertest.WantStatus(t, phone.Get("/login"), http.StatusOK)
	doc := handlertest.Document(t, phone.Get("/login/code?next=/agents"))
	field := doc.Find("#code")
	if auto, _ := field.Attr("autocomplete"); auto != "one-time-code" || field.AttrOr("inputmode", "") != "numeric" {
		t.Errorf("the field is for %q", auto)
	}
	res := phone.Post("/login/code", url.Values{"code": {"000000"}, "next": {"/agents"}})
	handlertest.WantStatus(t, res, http.StatusUnauthorized)
	if text := handlertest.Document(t, res).Find(`[role="alert"]`).Text(); !strings.Contains(text, "not right") {
		t.Errorf("alert %q", text)
	}
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	handlertest.WantRedirect(t, phone.Post("/login/code", url.Values{"code": {code}, "next": {"/agents"}}), "/agents")
	if phone.Cookies["sid"].Value == half.Value || phone.Cookies["sid"].MaxAge < 11*3600 {
		t.Error("the token of the half session goes on")
	}
	if !phone.SignedIn() {
		t.Error("not logged in")
	}
	// The half session is over, and its code used up.
	phone.Cookies["sid"] = half
	handlertest.WantRedirect(t, phone.Post("/login/code", url.Values{"code": {code}}), "/login")
	tablet := s.Browser()
	handlertest.WantRedirect(t, tablet.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}}), "/login/code")
	handlertest.WantStatus(t, tablet.Post("/login/code", url.Values{"code": {code}}), http.StatusUnauthorized)
}

func TestHalfSessionEnds(t *testing.T) {
	s := handlertest.OwnedSite(t)
	s.LogIn(t)
	_, codes := s.SecondFactor(t)
	handlertest.WantRedirect(t, s.Browser().Get("/login/code?next=/agents"), "/login?next=%2Fagents")

	late := s.Browser()
	handlertest.WantRedirect(t, late.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}}), "/login/code")
	dbfactory.Exec(t, s.DB, "UPDATE session SET expires_at = now() - interval '1 second' WHERE half")
	handlertest.WantRedirect(t, late.Post("/login/code", url.Values{"code": {codes[0]}}), "/login")

	// Whoever knew the old password gets no further with a code.
	thief := s.Browser()
	handlertest.WantRedirect(t, thief.Post("/login", url.Values{"email": {handlertest.OwnerEmail}, "password": {handlertest.OwnerPassword}}), "/login/code")
	handlertest.WantRedirect(t, s.Post("/settings/account/password", url.Values{"current": {handlertest.OwnerPassword}, "password": {handlertest.OtherPassword}}), "/settings/account")
	handlertest.WantRedirect(t, thief.Post("/login/code", url.Values{"code": {codes[0]}}), "/login")
}
