package handlers

import (
	"context"
	"strconv"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/accounts"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// noteLogIn remembers the log in whose session, with these values, was just saved;
// half a session is none.
func (s *Server) noteLogIn(ctx context.Context, c echo.Context, values map[string]string) error {
	account, ok := ids.Parse(values[accounts.SessionAccount])
	if !ok {
		return nil
	}
	epoch, err := strconv.ParseInt(values[accounts.SessionEpoch], 10, 64)
	if err != nil {
		return err
	}
	return s.Accounts.NoteLogIn(ctx, account, epoch, s.originOf(c), c.Request().UserAgent(), s.Sessions.Token(ctx))
}

// logInMine takes the person's word that a new log in was the own one.
func (s *Server) logInMine(c echo.Context, who tenancy.Principal) error {
	if err := s.settleLogIn(c, who, true); err != nil {
		return err
	}
	return seeOther(c, links.Account)
}

// logInNotMine ends the session of somebody else's log in and leads to what has to
// change.
func (s *Server) logInNotMine(c echo.Context, who tenancy.Principal) error {
	if err := s.settleLogIn(c, who, false); err != nil {
		return err
	}
	s.setFlash(c, ui.Toast{Tone: ui.Warn, Title: "That browser is logged out",
		Text: "Whoever it was knows how to log in: change your password now and revoke your tokens with it."})
	return seeOther(c, links.Account+"#password-part")
}

func (s *Server) settleLogIn(c echo.Context, who tenancy.Principal, mine bool) error {
	id, ok := ids.Parse(c.Param("login"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such log in.")
	}
	return s.Accounts.SettleLogIn(c.Request().Context(), who, id, mine, s.token(c))
}
