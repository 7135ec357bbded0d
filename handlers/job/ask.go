package job

import (
	"net/http"

	"github.com/labstack/echo/v4"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// ask answers with the dialog before a verb, as the job's page has it, for the board.
func (p *Pages) ask(c echo.Context, who tenancy.Principal) error {
	job, err := p.Jobs.Get(c.Request().Context(), who, c.Param("key"))
	if err != nil {
		return err
	}
	v, ok := jobparts.VerbNamed(c.Param("action"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such action.")
	}
	if !web.IsHX(c) {
		return web.SeeOther(c, links.JobDialog(job.Key, string(v.By)))
	}
	a, asks := jobparts.AskedAction(job, v.By)
	if !asks {
		return p.refused(c, who, job, jobparts.NotDone(job, v))
	}
	return web.Render(c, http.StatusOK, view.ActionDialog(a, job.Version, "card-"+ui.DOMID(job.Key)))
}
