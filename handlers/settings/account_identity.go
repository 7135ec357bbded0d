package settings

import (
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/accounts/identities"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// identityPartModel returns what the own account's page says about the provider.
func identityPartModel(provider string, at identities.Identity, now time.Time) *view.IdentityPart {
	m := &view.IdentityPart{Name: provider, Linked: at.Linked, Email: at.Email}
	if !at.Linked {
		m.LinkURL = links.IdentityLink
		return m
	}
	m.Since = ui.Day(at.Since)
	if at.LastUsed != nil {
		m.LastUsed = ui.Ago(*at.LastUsed, now)
	}
	if at.HasPassword {
		m.Unlink = &ui.Action{Verb: "unlink-identity", Label: "Unlink", URL: links.IdentityUnlink, Danger: true,
			Dialog: &ui.Dialog{Title: "Unlink " + provider + "?", Keep: "Keep it", Confirm: "Unlink",
				Text: ui.Text("You log in with your password then. Sessions that are open stay open.")}}
	}
	return m
}

// identityPart returns what the page of the own account says about the identity
// provider; nil where the server has none.
func (p *Pages) identityPart(c echo.Context, who tenancy.Principal) (*view.IdentityPart, error) {
	if p.Provider == nil {
		return nil, nil
	}
	at, err := p.Accounts.Identities.Of(c.Request().Context(), who, p.Provider.Issuer())
	if err != nil {
		return nil, err
	}
	return identityPartModel(p.Provider.Name(), at, time.Now()), nil
}
