package settings

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/score"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// classWords say what the classes of decisions mean.
var classWords = map[decision.Class]string{
	decision.Same:       "The factory that got the job suited it best.",
	decision.Tie:        "Another one suited it as well.",
	decision.Stale:      "The fleet had changed before the factory got it.",
	decision.Infeasible: "The best one could not have taken it. This is a defect.",
	decision.Real:       "Another one suited it better.",
}

// divergenceShow answers with how often the factory that got a job was not the best one, in the last
// seven days.
func (p *dispatchPages) divergenceShow(c echo.Context, who tenancy.Principal) error {
	now := time.Now()
	d, err := p.Dispatch.Divergence(c.Request().Context(), who, now.Add(-decision.Retention))
	if err != nil {
		return err
	}
	shell, err := p.shell(c, who, "Dispatch, compared", links.Dispatch)
	if err != nil {
		return err
	}
	m := view.DivergencePage{Shell: shell, Decisions: d.Decisions}
	for _, class := range decision.Classes {
		m.Classes = append(m.Classes, view.DivergenceClass{Name: string(class), Text: classWords[class],
			Count: strconv.Itoa(d.Classes[class]),
			Share: fmt.Sprintf("%.1f %%", 100*float64(d.Classes[class])/float64(max(1, d.Decisions)))})
	}
	for _, e := range d.Examples {
		m.Examples = append(m.Examples, view.DivergenceExample{Key: e.Job, URL: links.Job(e.Job) + "#placement",
			At: ui.Ago(e.At, now), Pulled: e.Pulled, Scored: e.Scored, Why: e.Why})
	}
	for _, f := range score.Facts {
		m.Facts = append(m.Facts, view.DivergenceFact(f))
	}
	return web.Render(c, http.StatusOK, view.DivergenceView(m))
}
