package web

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/views/layout"
)

const (
	// ThemeCookie keeps a person's choice.
	ThemeCookie = "theme"
)

// ReadTheme returns what the browser's cookie says; anything unknown is the system's. It
// is no secret, so it may come under either name.
func ReadTheme(c echo.Context) layout.Theme {
	cookie, err := c.Cookie(hostOnly + ThemeCookie)
	if err != nil {
		cookie, err = c.Cookie(ThemeCookie)
	}
	if err != nil {
		return layout.ThemeSystem
	}
	switch t := layout.Theme(cookie.Value); t {
	case layout.ThemeLight, layout.ThemeDark:
		return t
	default:
		return layout.ThemeSystem
	}
}
