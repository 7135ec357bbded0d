package web

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// deviceCookie names the accounts for which a browser is known. It grants nothing: a log in from a
// known browser is not throttled by failed attempts of others.
const deviceCookie = "device"

// LoginOrigin returns where a log in comes from.
func (s *Site) LoginOrigin(c echo.Context) devices.Origin {
	origin := devices.Origin{Address: c.RealIP()}
	if cookie, err := c.Cookie(s.CookieName(deviceCookie)); err == nil {
		origin.Devices = cookie.Value
	}
	return origin
}

// rememberDevice makes the browser known to the account whose session begins with these values. A
// session that waits for its second factor does not count.
func (s *Site) rememberDevice(c echo.Context, values map[string]string) error {
	account, ok := ids.Parse(values[sessions.Account])
	if !ok {
		return nil
	}
	epoch, err := strconv.ParseInt(values[sessions.Epoch], 10, 64)
	if err != nil {
		return err
	}
	c.SetCookie(&http.Cookie{
		Name: s.CookieName(deviceCookie), Value: s.Accounts.Devices.Know(s.LoginOrigin(c).Devices, account, epoch), Path: "/",
		MaxAge: int(devices.Life.Seconds()), HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode,
	})
	return nil
}
