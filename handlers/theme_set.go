package handlers

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
)

const (
	themeCookie = "theme"
	themeLife   = 365 * 24 * time.Hour
	themeSystem = "system"
)

// setTheme keeps a person's choice in the browser, also before the log in.
func (s *Server) setTheme(c echo.Context, _ tenancy.Principal) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	cookie := &http.Cookie{
		Name:     s.cookieName(themeCookie),
		Value:    in.Get("theme"),
		Path:     "/",
		MaxAge:   int(themeLife.Seconds()),
		HttpOnly: true,
		Secure:   s.Secure,
		SameSite: http.SameSiteLaxMode,
	}
	switch views.Theme(cookie.Value) {
	case views.ThemeLight, views.ThemeDark:
	case themeSystem:
		cookie.Value, cookie.MaxAge = "", -1
	default:
		return fault.Invalid("theme", "Choose light, dark or system.")
	}
	c.SetCookie(cookie)
	return seeOther(c, safeNext(in.Get("next")))
}

// themeOf is what the browser's cookie says; anything unknown is the system's. It
// is no secret, so it may come under either name.
func themeOf(c echo.Context) views.Theme {
	cookie, err := c.Cookie(hostOnly + themeCookie)
	if err != nil {
		cookie, err = c.Cookie(themeCookie)
	}
	if err != nil {
		return views.ThemeSystem
	}
	switch t := views.Theme(cookie.Value); t {
	case views.ThemeLight, views.ThemeDark:
		return t
	default:
		return views.ThemeSystem
	}
}
