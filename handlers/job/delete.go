package job

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// deleteVerb stands in the address beside the verbs that change a job's status.
const deleteVerb = "delete"

// deleteAction deletes a finished job, after a confirmation.
func deleteAction(j jobs.Job) ui.Action {
	return ui.Action{Verb: deleteVerb, Label: "Delete job", Icon: "trash-2", Danger: true, URL: links.JobAction(j.Key, deleteVerb),
		Dialog: &ui.Dialog{Title: "Delete " + j.Key + "?", Keep: "Keep it", Confirm: "Delete job",
			Text: ui.Text("Its text, result, log and attempts are deleted for good. " +
				"The timeline keeps its key and its times, and what it cost still counts.")}}
}

// delete deletes a finished job, or says why it stays.
func (p *Pages) delete(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	job, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	to, toast := links.Board, ui.Toast{Tone: ui.OK, Title: job.Key + " was deleted"}
	switch err := p.Jobs.Purge(ctx, who, job.ID.String()); {
	case fault.Is(err, fault.InUse) || fault.Is(err, fault.InvalidTransition):
		to, toast = links.Job(job.Key), ui.Toast{Tone: ui.Bad, Title: job.Key + " was not deleted", Text: fault.From(err).Message}
	case err != nil:
		return err
	}
	p.SetFlash(c, toast)
	if web.IsHX(c) {
		c.Response().Header().Set("HX-Redirect", to)
		return c.NoContent(http.StatusOK)
	}
	return web.SeeOther(c, to)
}
