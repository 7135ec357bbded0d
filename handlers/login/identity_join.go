package login

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
	"github.com/fleetboard/fleetboard/views/ui"
)

// identityToJoin remembers who somebody is at the provider and goes on to the
// question whether to join. The callback itself makes nobody a member: another
// site's page can send a browser all the way to it.
func (p *identityPages) identityToJoin(c echo.Context, flow identityFlow, claims oidc.Claims) error {
	guest := foundGuest{Claims: claims, Invitation: flow.Invitation, Key: rand.Text(), At: time.Now()}
	if err := p.keep(c, keptJoin, guest); err != nil {
		return err
	}
	return web.SeeOther(c, links.IdentityAccept)
}

// identityJoinShow shows the page that confirms who joins what.
func (p *identityPages) identityJoinShow(c echo.Context, _ tenancy.Principal) error {
	return p.withGuest(c, func(guest foundGuest) error { return p.identityJoinPage(c, http.StatusOK, guest, "") })
}

// identityJoinAccept accepts the invitation as the person whom the page showed.
func (p *identityPages) identityJoinAccept(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	return p.withGuest(c, func(guest foundGuest) error {
		if in.Get("join") != guest.Key {
			return p.identityJoinPage(c, http.StatusConflict, guest, asksAnew)
		}
		who, done, err := p.Accounts.Identities.JoinAs(c.Request().Context(), guest.Invitation, guest.Claims)
		if err != nil {
			return p.joinFailed(c, guest, err)
		}
		// The session begins anew, and what was kept in the old one is gone.
		if err := p.identitySession(c, who, done.Workspace.String()); err != nil {
			return err
		}
		return p.joined(c, done)
	})
}

// withGuest runs fn for whoever is about to join in this browser; without one the
// page says how to begin again.
func (p *identityPages) withGuest(c echo.Context, fn func(foundGuest) error) error {
	if p.Provider == nil {
		return noProvider()
	}
	guest, ok, err := p.guestFound(c)
	if err != nil {
		return err
	}
	if !ok || guest.Issuer != p.Provider.Issuer() {
		return p.identityDoor(c, http.StatusBadRequest, joinOver())
	}
	return fn(guest)
}

func (p *identityPages) identityJoinPage(c echo.Context, status int, guest foundGuest, wrong string) error {
	ctx := c.Request().Context()
	in, err := p.Accounts.Members.OpenInvitation(ctx, guest.Invitation)
	if err != nil {
		return p.joinFailed(c, guest, err)
	}
	m := view.IdentityGuest{Theme: web.ReadTheme(c), Key: guest.Key, Error: wrong, Provider: p.Provider.Name(), Who: guest.Email,
		Workspace: in.WorkspaceName, Role: web.Capital(string(in.Role)), May: RoleMay[in.Role], By: in.By,
		Until: ui.In(in.Expires, time.Now()), Back: links.Invitation(guest.Invitation)}
	account, known, err := p.Accounts.Identities.Account(ctx, guest.Claims)
	if err != nil {
		return err
	}
	m.Account = account.Email
	id, signedIn, err := p.guestAccount(c)
	if err != nil {
		return err
	}
	if signedIn && (!known || id != account.ID) {
		here, err := p.Accounts.People.Guest(ctx, id)
		if err != nil {
			return err
		}
		m.LeavesAs = here.Email
	}
	return web.RenderSecret(c, status, view.IdentityGuestView(m))
}

// joinFailed says why an invitation could not be accepted.
func (p *identityPages) joinFailed(c echo.Context, guest foundGuest, err error) error {
	switch f := fault.From(err); f.Code {
	case fault.NotFound, fault.Validation, fault.VersionConflict:
		return p.identityDoor(c, status.Of(f.Code), joinRefused(p.Provider.Name(), guest.Invitation, f))
	default:
		return err
	}
}
