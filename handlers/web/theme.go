package web

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/views/layout"
)

// ThemeCookie is the cookie with a person's theme.
const ThemeCookie = "theme"

// ReadTheme returns the theme of the browser's cookie; anything unknown is the system's. It is no
// secret, so the cookie may have either name.
func ReadTheme(c echo.Context) layout.Theme {
	cookie, err := c.Cookie(hostOnlyPrefix + ThemeCookie)
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
