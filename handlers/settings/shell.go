package settings

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

// accountShell returns the shell of a page of the own account. A refused form has no
// address that could be gone back to.
func (p *Pages) accountShell(c echo.Context, who tenancy.Principal, title string) (layout.Shell, error) {
	snap, err := p.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return layout.Shell{}, err
	}
	shell, err := p.Page(c, who, snap, layout.SectionSettings, title)
	if err == nil && c.Request().Method != http.MethodGet {
		shell.Path = links.Account
	}
	return shell, err
}

// shell returns the shell of a page of the settings. Its path is given, for a
// refused form has no address that the theme's form could come back to.
func (p *Pages) shell(c echo.Context, who tenancy.Principal, title, path string) (layout.Shell, error) {
	snap, err := p.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return layout.Shell{}, err
	}
	shell, err := p.Page(c, who, snap, layout.SectionSettings, title)
	shell.Path = path
	return shell, err
}
