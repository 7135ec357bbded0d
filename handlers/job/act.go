package job

import (
	"github.com/labstack/echo/v4"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/ui"
)

// act does one of a person's verbs to a job.
func (p *Pages) act(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	v, ok := jobparts.VerbNamed(c.Param("action"))
	if !ok {
		return fault.New(fault.NotFound, "There is no such action.")
	}
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	action, err := jobparts.ReadAction(in, v)
	if err != nil {
		return err
	}
	before, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	after, err := p.Dispatch.Act(ctx, who, before.Key, action)
	switch {
	case jobparts.Outdated(err):
		now, err := p.Jobs.Get(ctx, who, before.Key)
		if err != nil {
			return err
		}
		return p.refused(c, who, now, jobparts.NotDone(now, v))
	case fault.Is(err, fault.Validation) && !web.IsHX(c):
		return p.goBack(c, &ui.Toast{Tone: ui.Bad, Title: v.Label + " was not done", Text: web.FieldText(err)})
	case err != nil:
		return web.Sentence(err)
	}
	toast := askedToast(after)
	if toast == nil {
		toast = &ui.Toast{Tone: ui.OK, Title: after.Key + " " + v.Done}
	}
	toast.Undo = jobparts.FindUndo(v.By, after)
	return p.changed(c, who, after, toast, screens.StatusColumn(before.Status))
}
