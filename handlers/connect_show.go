package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// connectName is the name of a token that is made here, unless a person names it.
const connectName = "A new host"

// connectShow says how to connect an agent by hand.
func (s *Server) connectShow(c echo.Context, who tenancy.Principal) error {
	sheet := tokenFormSheet{form: blankToken(tenancy.KindEnrolment, connectName)}
	return s.connectPage(c, who, http.StatusOK, sheet, nil)
}

// connectIssue makes an enrolment token and answers with the same page, whose
// lines hold it, once.
func (s *Server) connectIssue(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := tokenFormSheet{form: parseTokenForm(in)}
	sheet.form.kind = tenancy.KindEnrolment
	made, err := s.issueToken(c, who, &sheet)
	switch {
	case fault.Is(err, fault.AlreadyExists):
		return s.madeBefore(c, links.Connect)
	case err != nil:
		return err
	case made == nil:
		return s.connectPage(c, who, http.StatusUnprocessableEntity, sheet, nil)
	}
	return s.connectPage(c, who, http.StatusOK, sheet, made)
}

func (s *Server) connectPage(c echo.Context, who tenancy.Principal, status int, sheet tokenFormSheet, made *views.MadeToken) error {
	shell, err := s.settingsShell(c, who, "Connect an agent", links.Connect)
	if err != nil {
		return err
	}
	m := views.Connect{Server: s.Web.ServerURL(c), TokenFile: s.Web.EnrolmentFile(c.Request().Context(), who), Made: made,
		CanEnrol: who.Can(tenancy.RunFleet), Form: sheet.model(), Agent: "agent-1", Factory: "here"}
	return web.Render(c, status, views.ConnectView(views.ConnectPage{Shell: shell, Connect: m}))
}
