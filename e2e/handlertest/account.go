package handlertest

import (
	"encoding/base64"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

// Browser is another browser of the same site.
func (s *Site) Browser() *Site {
	return &Site{Server: s.Server, DB: s.DB, Cookies: map[string]*http.Cookie{}, LogText: s.LogText}
}

// SignedIn reports whether the browser is taken for a person.
func (s *Site) SignedIn() bool { return s.Get("/probe/who").StatusCode == http.StatusOK }

// SecondFactor turns the second factor on and returns the secret and the codes.
func (s *Site) SecondFactor(t *testing.T) (secret string, codes []string) {
	t.Helper()
	WantRedirect(t, s.Post("/settings/account/second-factor", url.Values{"current": {OwnerPassword}}), "/settings/account/second-factor")
	doc := Document(t, s.Get("/settings/account/second-factor"))
	picture, _ := doc.Find("#factor img").Attr("src")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(picture, "data:image/png;base64,"))
	if err != nil {
		t.Fatalf("the picture is none: %v", err)
	}
	if _, err := png.Decode(strings.NewReader(string(raw))); err != nil {
		t.Fatalf("the picture is none: %v", err)
	}
	secret = strings.ReplaceAll(doc.Find("#secret").Text(), " ", "")

	res := s.Post("/settings/account/second-factor/confirm", url.Values{"code": {"000000"}})
	WantStatus(t, res, http.StatusUnprocessableEntity)
	if text := Document(t, res).Find("#code-e").Text(); !strings.Contains(text, "does not fit") {
		t.Errorf("at the code: %q", text)
	}
	// The step before now: the one of now is for the log in that follows.
	code, err := totp.GenerateCode(secret, time.Now().Add(-30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	res = s.Post("/settings/account/second-factor/confirm", url.Values{"code": {code}})
	WantStatus(t, res, http.StatusOK)
	return secret, strings.Fields(Document(t, res).Find("#codes pre").Text())
}
