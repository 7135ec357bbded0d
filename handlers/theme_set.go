package handlers

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
)

const themeLife = 365 * 24 * time.Hour

const themeSystem = "system"

// setTheme keeps a person's choice in the browser, also before the log in.
func (s *Server) setTheme(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	cookie := &http.Cookie{
		Name:     s.CookieName(web.ThemeCookie),
		Value:    in.Get("theme"),
		Path:     "/",
		MaxAge:   int(themeLife.Seconds()),
		HttpOnly: true,
		Secure:   s.Secure,
		SameSite: http.SameSiteLaxMode,
	}
	switch layout.Theme(cookie.Value) {
	case layout.ThemeLight, layout.ThemeDark:
	case themeSystem:
		cookie.Value, cookie.MaxAge = "", -1
	default:
		return fault.Invalid("theme", "Choose light, dark or system.")
	}
	c.SetCookie(cookie)
	return web.SeeOther(c, web.SafeNext(in.Get("next")))
}
