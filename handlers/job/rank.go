package job

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// rank puts a card elsewhere in its column: by drag, menu, key or plain form. One that cannot go
// there stays, and a toast says why.
func (p *Pages) rank(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	before, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	var after jobs.Job
	switch step := jobs.Step(in.Get("to")); step {
	case jobs.ToTop, jobs.Up, jobs.Down:
		after, err = p.Jobs.Step(ctx, who, before.Key, step)
	case "":
		after, err = p.Jobs.Rank(ctx, who, before.Key, jobs.Rank{Before: in.Get("before"), After: in.Get("after")})
	default:
		return fault.Invalid("to", "It must be top, up or down.")
	}
	if jobparts.Outdated(err) || fault.Is(err, fault.OtherOrder) {
		return p.refused(c, who, before, ui.Toast{Tone: ui.Warn, Title: before.Key + " stays where it was", Text: fault.From(err).Message})
	}
	if err != nil {
		return err
	}
	act := live.Act{Job: after, From: screens.StatusColumn(after.Status), Told: isLive(c)}
	if after.Version == before.Version {
		return p.done(c, who, act, &ui.Toast{Tone: ui.Info, Title: after.Key + " stays where it was",
			Text: "No job of its product and priority stands there."})
	}
	return p.done(c, who, act, &ui.Toast{Tone: ui.OK, Title: after.Key + " has another place", Undo: &ui.Undo{
		URL: links.JobUndo(after.Key), Version: after.Version, About: "card-" + ui.DOMID(after.Key)}})
}
