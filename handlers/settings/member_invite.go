package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// invitationMake makes a link and shows it, this once: the answer is the page
// itself, for the link is in no cookie and no address of ours.
func (p *memberPages) invitationMake(c echo.Context, who tenancy.Principal) error {
	values, err := web.Form(c)
	if err != nil {
		return err
	}
	in := inviteForm{email: values.Get("email"), role: values.Get("role")}
	token, made, err := p.Accounts.Members.Invite(c.Request().Context(), who, in.email, tenancy.Role(in.role))
	switch f := fault.From(err); {
	case err == nil:
		in.link, in.made = p.ServerURL(c)+links.Invitation(token), made
		return p.membersPage(c, who, http.StatusOK, in)
	case f.Code == fault.Validation:
		in.wrong = f.Fields
		return p.membersPage(c, who, http.StatusUnprocessableEntity, in)
	case f.Code == fault.InUse:
		return p.membersChanged(c, err, "", "")
	default:
		return err
	}
}

// invitationRevoke takes an open link back.
func (p *memberPages) invitationRevoke(c echo.Context, who tenancy.Principal) error {
	id, ok := ids.Parse(c.Param("invitation"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such invitation.")
	}
	if err := p.Accounts.Members.RevokeInvitation(c.Request().Context(), who, id); err != nil {
		return err
	}
	p.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The invitation was taken back", Text: "Its link opens nothing any more."})
	return web.SeeOther(c, links.Members)
}
