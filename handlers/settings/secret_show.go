package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// secretsShow answers with the page of the encryption keys and of a rotation.
func (p *recordPages) secretsShow(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	sheet := secretPageData{canOwn: who.Can(tenancy.Own)}
	var err error
	if sheet.keys, err = p.Jobs.Secrets.Keys(ctx, who); err != nil {
		return err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	shell, err := p.Page(c, who, snap, layout.SectionSettings, "Encryption")
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.SecretsView(view.SecretsPage{Shell: shell, Secrets: sheet.model()}))
}

// secretsRenew makes a new key and goes back to the page.
func (p *recordPages) secretsRenew(c echo.Context, who tenancy.Principal) error {
	toast := ui.Toast{Tone: ui.OK, Title: "A new key was made", Text: "The secrets that are kept are encrypted anew from now on."}
	err := p.Jobs.Secrets.RenewKey(c.Request().Context(), who)
	if refusal := fault.From(err); fault.Is(err, fault.InvalidTransition) {
		toast = ui.Toast{Tone: ui.Warn, Title: "No new key was made", Text: refusal.Message}
	} else if err != nil {
		return err
	}
	p.SetFlash(c, toast)
	return web.SeeOther(c, links.Secrets)
}
