package login

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/setup"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
)

// setupForm shows the page of a set-up link that can still be used.
func (p *Pages) setupForm(c echo.Context, _ tenancy.Principal) error {
	ok, err := p.Accounts.Setup.SetUpAccount(c.Request().Context(), c.Param("token"))
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.NotFound,
			"This set-up link is not valid any more. If you have an account, log in. If not, ask an owner of the workspace for an "+
				"invitation, or whoever runs this server for a new link: it writes one when it starts, as long as it has no owner.")
	}
	return web.RenderSecret(c, http.StatusOK, view.SetupView(view.Setup{Theme: web.ReadTheme(c), URL: links.Setup(c.Param("token"))}))
}

// setup makes the owner and logs him in, or shows the form again with what was
// typed, the password apart.
func (p *Pages) setup(c echo.Context, _ tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	token := c.Param("token")
	typed := setup.Owner{Name: in.Get("name"), Email: in.Get("email"), Password: in.Get("password"), Workspace: in.Get("workspace")}
	account, err := p.Accounts.Setup.SetUp(c.Request().Context(), token, typed)
	if fault.Is(err, fault.Validation) {
		f := fault.From(err)
		return web.RenderSecret(c, status.Of(f.Code), view.SetupView(view.Setup{
			Theme: web.ReadTheme(c), URL: links.Setup(token), Errors: f.Fields,
			Workspace: typed.Workspace, Name: typed.Name, Email: typed.Email,
		}))
	}
	if err != nil {
		return err
	}
	if err := p.SignIn(c, account); err != nil {
		return err
	}
	return web.SeeOther(c, links.Board)
}
