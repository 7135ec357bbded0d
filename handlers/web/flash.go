package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/views/ui"
)

const (
	flashCookie = "flash"
	// flashLife is how long a toast is stored for the next page, in seconds.
	flashLife = 60
	// maxFlash keeps the cookie well below the limit of browsers, in bytes.
	maxFlash     = 3000
	maxFlashText = 400
)

// SetFlash stores a toast for the next page, for answers that only redirect.
func (s *Site) SetFlash(c echo.Context, t ui.Toast) {
	t.Title = FirstLine(ui.Clean(t.Title), maxFlashText)
	t.Text = FirstLine(ui.Clean(t.Text), maxFlashText)
	raw, err := json.Marshal(t)
	if err != nil {
		return // a struct of strings always encodes
	}
	s.writeFlash(c, base64.RawURLEncoding.EncodeToString(raw), flashLife)
}

// takeFlash returns the stored toast and removes it. Its words are shown as text, and its
// link may only lead to one of our pages, although the server wrote both.
func (s *Site) takeFlash(c echo.Context) []ui.Toast {
	cookie, err := c.Cookie(s.CookieName(flashCookie))
	if err != nil || cookie.Value == "" {
		return nil
	}
	s.writeFlash(c, "", -1)
	raw, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(raw) > maxFlash {
		return nil
	}
	var t ui.Toast
	if json.Unmarshal(raw, &t) != nil || t.Title == "" {
		return nil
	}
	if t.ActionURL != "" {
		t.ActionURL = SafeNext(t.ActionURL)
	}
	if t.Undo != nil {
		t.Undo.URL = SafeNext(t.Undo.URL)
	}
	return []ui.Toast{t}
}

func (s *Site) writeFlash(c echo.Context, value string, seconds int) {
	c.SetCookie(&http.Cookie{
		Name: s.CookieName(flashCookie), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode,
	})
}
