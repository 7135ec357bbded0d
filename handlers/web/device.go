package web

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// deviceCookie keeps for which accounts a browser is known. It opens nothing: a
// log in from it is not held up by what others try.
const deviceCookie = "device"

// LoginOrigin is where a log in comes from.
func (s *Site) LoginOrigin(c echo.Context) devices.Origin {
	from := devices.Origin{Address: c.RealIP()}
	if cookie, err := c.Cookie(s.CookieName(deviceCookie)); err == nil {
		from.Devices = cookie.Value
	}
	return from
}

// knowDevice makes the browser a known one of the account whose session begins
// with these values; half a session says nothing.
func (s *Site) knowDevice(c echo.Context, values map[string]string) error {
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
