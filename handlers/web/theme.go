package web

import (
	"github.com/labstack/echo/v4"

	"fleetboard/views"
)

const (
	// ThemeCookie keeps a person's choice.
	ThemeCookie = "theme"
)

// ThemeOf is what the browser's cookie says; anything unknown is the system's. It
// is no secret, so it may come under either name.
func ThemeOf(c echo.Context) views.Theme {
	cookie, err := c.Cookie(hostOnly + ThemeCookie)
	if err != nil {
		cookie, err = c.Cookie(ThemeCookie)
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
