package job

import (
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/ui"
)

// tickRaces is how often a tick is written again because somebody else changed
// the job at that moment.
const tickRaces = 5

// tick ticks or unticks one acceptance criterion. It says which one by its
// place and its words, and what it shall be, so that two people may tick at once.
func (p *Pages) tick(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(in.Get("index"))
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "The number of the criterion is not a number.")
	}
	var job jobs.Job
	for range tickRaces {
		if job, err = p.Jobs.Get(ctx, who, c.Param("key")); err != nil {
			return err
		}
		if at < 0 || at >= len(job.Acceptance) || job.Acceptance[at] != in.Get("text") {
			return p.refused(c, who, job, ui.Toast{Tone: ui.Warn, Title: "The criteria of " + job.Key + " have changed",
				Text: "This is how they are now. Nothing was ticked."})
		}
		met := slices.Clone(job.AcceptanceMet)
		met[at] = in.Get("met") == "true"
		job, err = p.Jobs.Patch(ctx, who, job.Key, jobs.Patch{Version: job.Version, Spec: jobs.Spec{AcceptanceMet: met},
			Set: []string{"acceptance_met"}})
		if !fault.Is(err, fault.VersionConflict) {
			break
		}
	}
	if err != nil {
		return err
	}
	return p.changed(c, who, job, nil, screens.StatusColumn(job.Status))
}
