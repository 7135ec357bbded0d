package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// secretsShow is the page of the encryption keys and of a rotation.
func (s *Server) secretsShow(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	sheet := secretSheet{canOwn: who.Can(tenancy.Own)}
	var err error
	if sheet.keys, err = s.Jobs.SecretKeys(ctx, who); err != nil {
		return err
	}
	snap, err := s.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	shell, err := s.Web.Page(c, who, snap, views.SectionSettings, "Encryption")
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, views.SecretsView(views.SecretsPage{Shell: shell, Secrets: sheet.model()}))
}

// secretsRenew makes a new key and goes back to the page.
func (s *Server) secretsRenew(c echo.Context, who tenancy.Principal) error {
	toast := ui.Toast{Tone: ui.OK, Title: "A new key was made", Text: "The secrets that are kept are encrypted anew from now on."}
	err := s.Jobs.RenewSecretKey(c.Request().Context(), who)
	if refusal := fault.From(err); fault.Is(err, fault.InvalidTransition) {
		toast = ui.Toast{Tone: ui.Warn, Title: "No new key was made", Text: refusal.Message}
	} else if err != nil {
		return err
	}
	s.Web.SetFlash(c, toast)
	return web.SeeOther(c, links.Secrets)
}
