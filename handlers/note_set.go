package handlers

import (
	"net/http"
	"regexp"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

var noteKey = regexp.MustCompile(`^[0-9a-z]{1,16}$`)

// putAway keeps in the browser which note a person has read; static/js/notes.js reads it too.
func (s *Server) putAway(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	key := in.Get("key")
	if !noteKey.MatchString(key) {
		return fault.Invalid("key", "There is no such note.")
	}
	c.SetCookie(&http.Cookie{Name: s.CookieName(web.NotesCookie), Value: web.PutNoteAway(c, key), Path: "/",
		MaxAge: int(themeLife.Seconds()), Secure: s.Secure, SameSite: http.SameSiteLaxMode})
	if web.IsHX(c) {
		return c.NoContent(http.StatusNoContent)
	}
	return web.SeeOther(c, web.BackTo(c, links.Board))
}
