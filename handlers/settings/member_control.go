package settings

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// memberDisable keeps a member out of the workspace for a while.
func (p *memberPages) memberDisable(c echo.Context, who tenancy.Principal) error {
	return p.memberControl(c, who, p.Accounts.Members.Disable, "The member is disabled",
		"Pages and tokens of theirs here stop within five seconds.")
}

// memberEnable lets a disabled member in again.
func (p *memberPages) memberEnable(c echo.Context, who tenancy.Principal) error {
	return p.memberControl(c, who, p.Accounts.Members.Enable, "The member is enabled again", "Role and tokens are those of before.")
}

// memberEndSessions logs a member out of all browsers.
func (p *memberPages) memberEndSessions(c echo.Context, who tenancy.Principal) error {
	return p.memberControl(c, who, p.Accounts.Members.EndSessions, "The member is logged out everywhere", "They can log in again.")
}

func (p *memberPages) memberControl(c echo.Context, who tenancy.Principal,
	do func(context.Context, tenancy.Principal, ids.ID) error, title, text string) error {
	account, err := memberID(c)
	if err != nil {
		return err
	}
	return p.membersChanged(c, do(c.Request().Context(), who, account), title, text)
}

// workspaceFactor says whether members need a second factor.
func (p *memberPages) workspaceFactor(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	required := in.Get("required") == "1"
	t := ui.Toast{Tone: ui.OK, Title: "Members choose whether they have a second factor"}
	if required {
		t = ui.Toast{Tone: ui.OK, Title: "Members need a second factor now",
			Text: "Who has none is asked to set it up before anything else here."}
	}
	switch err := p.Accounts.Workspaces.RequireSecondFactor(c.Request().Context(), who, required); {
	case fault.Is(err, fault.InvalidTransition):
		t = ui.Toast{Tone: ui.Bad, Title: "Nothing was changed", Text: fault.From(err).Message}
	case err != nil:
		return err
	}
	p.SetFlash(c, t)
	return web.SeeOther(c, links.Workspace)
}

// factorDuty answers with the page of somebody who has to set up a second factor and has not
// begun.
func (p *accountPages) factorDuty(c echo.Context, who tenancy.Principal, status int, wrong string) error {
	list, err := p.Accounts.Workspaces.Of(c.Request().Context(), who.Account)
	if err != nil {
		return err
	}
	m := view.FactorDuty{Theme: web.ReadTheme(c), Error: wrong}
	for _, w := range list {
		if w.ID == who.Workspace {
			m.Workspace = w.Name
		} else {
			m.Others = append(m.Others, ui.Option{Value: w.ID.String(), Label: w.Name})
		}
	}
	return web.Render(c, status, view.FactorDutyView(m))
}
