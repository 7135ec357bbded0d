package job

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// liveHeader is set by a page whose stream is open.
const liveHeader = "Fleetboard-Live"

// changed answers an action that was done: for htmx the parts of its page that
// the job touched, else the page that the form was on, with a toast. A toast
// that is nil says nothing.
func (p *Pages) changed(c echo.Context, who tenancy.Principal, job jobs.Job, toast *ui.Toast, from screens.Column) error {
	return p.done(c, who, live.Act{Job: job, From: from, Told: isLive(c)}, toast)
}

func isLive(c echo.Context) bool { return c.Request().Header.Get(liveHeader) != "" }

// done answers with the parts that show an action, and a toast.
func (p *Pages) done(c echo.Context, who tenancy.Principal, act live.Act, toast *ui.Toast) error {
	if !web.IsHX(c) {
		return p.goBack(c, toast)
	}
	parts, err := p.registry.Parts(c, who, act)
	if err != nil {
		return err
	}
	if toast != nil {
		parts = append(parts, layout.LiveToast(*toast))
	}
	return web.Render(c, http.StatusOK, templ.Join(parts...))
}

// refused answers an action that did not fit the job's present state: that
// state, and a toast that says why.
func (p *Pages) refused(c echo.Context, who tenancy.Principal, job jobs.Job, toast ui.Toast) error {
	if !web.IsHX(c) {
		return p.goBack(c, &toast)
	}
	parts, err := p.registry.Parts(c, who, live.Act{Job: job, Refused: true})
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusConflict, templ.Join(append(parts, layout.LiveToast(toast))...))
}

func (p *Pages) goBack(c echo.Context, toast *ui.Toast) error {
	if toast != nil {
		p.SetFlash(c, *toast)
	}
	return web.SeeOther(c, web.BackTo(c, links.Board))
}
