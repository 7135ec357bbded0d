package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// memberDisable keeps a member out of the workspace for a while.
func (s *Server) memberDisable(c echo.Context, who tenancy.Principal) error {
	return s.memberControl(c, who, s.Accounts.DisableMember, "The member is disabled", "Pages and tokens of theirs here stop within five seconds.")
}

// memberEnable lets a disabled member in again.
func (s *Server) memberEnable(c echo.Context, who tenancy.Principal) error {
	return s.memberControl(c, who, s.Accounts.EnableMember, "The member is enabled again", "Role and tokens are those of before.")
}

// memberEndSessions logs a member out of all browsers.
func (s *Server) memberEndSessions(c echo.Context, who tenancy.Principal) error {
	return s.memberControl(c, who, s.Accounts.EndMemberSessions, "The member is logged out everywhere", "They can log in again.")
}

func (s *Server) memberControl(c echo.Context, who tenancy.Principal, do func(context.Context, tenancy.Principal, ids.ID) error, title, text string) error {
	account, err := memberID(c)
	if err != nil {
		return err
	}
	return s.membersChanged(c, do(c.Request().Context(), who, account), title, text)
}

// workspaceFactor says whether members need a second factor.
func (s *Server) workspaceFactor(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	required := in.Get("required") == "1"
	t := ui.Toast{Tone: ui.OK, Title: "Members choose whether they have a second factor"}
	if required {
		t = ui.Toast{Tone: ui.OK, Title: "Members need a second factor now", Text: "Who has none is asked to set it up before anything else here."}
	}
	switch err := s.Accounts.RequireSecondFactor(c.Request().Context(), who, required); {
	case fault.Is(err, fault.InvalidTransition):
		t = ui.Toast{Tone: ui.Bad, Title: "Nothing was changed", Text: fault.From(err).Message}
	case err != nil:
		return err
	}
	s.Web.SetFlash(c, t)
	return web.SeeOther(c, links.Workspace)
}

// openWhileHeld are the routes of somebody who has to set up a second factor.
var openWhileHeld = map[string]bool{links.SecondFactor: true, links.ConfirmFactor: true, links.SwitchWorkspace: true}

// toFactor leads somebody there who has to set it up first.
func toFactor(c echo.Context) error {
	switch {
	case web.IsHX(c):
		c.Response().Header().Set("HX-Redirect", links.SecondFactor)
		return c.NoContent(http.StatusForbidden)
	case !web.WantsPage(c):
		return fault.New(fault.Forbidden, "This workspace asks for a second factor. Set it up first.")
	}
	return web.SeeOther(c, links.SecondFactor)
}

// factorDuty is the page of somebody who has to set up a second factor and has not
// begun.
func (s *Server) factorDuty(c echo.Context, who tenancy.Principal, status int, wrong string) error {
	list, err := s.Accounts.Workspaces(c.Request().Context(), who.Account)
	if err != nil {
		return err
	}
	m := views.FactorDuty{Theme: web.ThemeOf(c), Error: wrong}
	for _, w := range list {
		if w.ID == who.Workspace {
			m.Workspace = w.Name
		} else {
			m.Others = append(m.Others, ui.Option{Value: w.ID.String(), Label: w.Name})
		}
	}
	return web.Render(c, status, views.FactorDutyView(m))
}
