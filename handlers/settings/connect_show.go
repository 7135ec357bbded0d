package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// connectName is the name of a token that is made here, unless a person names it.
const connectName = "A new host"

// connectShow says how to connect an agent by hand.
func (p *tokenPages) connectShow(c echo.Context, who tenancy.Principal) error {
	sheet := tokenFormData{form: blankToken(tenancy.KindEnrolment, connectName)}
	return p.connectPage(c, who, http.StatusOK, sheet, nil)
}

// connectIssue makes an enrolment token and answers with the same page, whose
// lines hold it, once.
func (p *tokenPages) connectIssue(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	sheet := tokenFormData{form: tokenFields.Read(in)}
	sheet.form.Typed.Set("kind", string(tenancy.KindEnrolment))
	made, err := p.issueToken(c, who, &sheet)
	switch {
	case fault.Is(err, fault.AlreadyExists):
		return p.madeBefore(c, links.Connect)
	case err != nil:
		return err
	case made == nil:
		return p.connectPage(c, who, http.StatusUnprocessableEntity, sheet, nil)
	}
	return p.connectPage(c, who, http.StatusOK, sheet, made)
}

func (p *tokenPages) connectPage(c echo.Context, who tenancy.Principal, status int, sheet tokenFormData, made *view.MadeToken) error {
	shell, err := p.shell(c, who, "Connect an agent", links.Connect)
	if err != nil {
		return err
	}
	m := view.Connect{Server: p.ServerURL(c), TokenFile: p.EnrolmentFile(c.Request().Context(), who), Made: made,
		CanEnrol: who.Can(tenancy.RunFleet), Form: sheet.model(), Agent: "agent-1", Factory: "here"}
	if m.Tools, err = p.connectTools(c, who); err != nil {
		return err
	}
	return web.RenderSecret(c, status, view.ConnectView(view.ConnectPage{Shell: shell, Connect: m}))
}

// connectTools says how to give a program the tools of a person, and whether one called.
func (p *tokenPages) connectTools(c echo.Context, who tenancy.Principal) (view.Tools, error) {
	m := view.Tools{URL: p.ServerURL(c) + links.Tools}
	use, ok, err := p.Accounts.Tokens.LastTools(c.Request().Context(), who)
	if ok {
		m.At, m.Program, m.Token = ui.Ago(use.At, use.Now), use.Program, use.Token
	}
	return m, err
}
