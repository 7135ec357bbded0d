package agents

import (
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/agents"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// maxWhy is how long the reason for ending an agent may be, in characters.
const maxWhy = 1000

// factoryDrain lets a factory take no new claims.
func (s site) factoryDrain(c echo.Context, who tenancy.Principal) error {
	return s.setDraining(c, who, true)
}

// factoryUndrain lets it claim again.
func (s site) factoryUndrain(c echo.Context, who tenancy.Principal) error {
	return s.setDraining(c, who, false)
}

func (s site) setDraining(c echo.Context, who tenancy.Principal, draining bool) error {
	f, err := s.Fleet.SetDraining(c.Request().Context(), who, c.Param("name"), draining)
	if err != nil {
		return err
	}
	t := ui.Toast{Tone: ui.OK, Title: f.Name + " takes claims again"}
	if draining {
		t.Title, t.Text = f.Name+" is draining", "It takes no new claims; current jobs may end."
	}
	return s.fleetChanged(c, who, t)
}

// factoryRemove forgets a factory whose agents are dead.
func (s site) factoryRemove(c echo.Context, who tenancy.Principal) error {
	name := c.Param("name")
	if err := s.Dispatch.RemoveFactory(c.Request().Context(), who, name); err != nil {
		return err
	}
	return s.fleetChanged(c, who, ui.Toast{Tone: ui.OK, Title: name + " was removed",
		Text: "Its attempts and the timeline keep its name. A host that comes back registers anew."})
}

// agentTerminate ends an agent, after its jobs or at once.
func (s site) agentTerminate(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	reason, graceful := in.Get("reason"), in.Get("graceful") == "1"
	if !web.Fits(reason, maxWhy) {
		return web.Sentence(fault.Invalid("reason", "It must have at most %d characters of text.", maxWhy))
	}
	a, err := s.Dispatch.Terminate(c.Request().Context(), who, c.Param("name"), reason, graceful)
	if err != nil {
		return err
	}
	t := ui.Toast{Tone: ui.OK, Title: a.Name + " was ended", Text: "What it worked on went back to the queue."}
	if graceful {
		t.Title, t.Text = a.Name+" ends after its job", "It gets no new ones."
	}
	return s.fleetChanged(c, who, t)
}

// agentCutOff ends an agent and its tokens at once.
func (s site) agentCutOff(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	reason := in.Get("reason")
	if !web.Fits(reason, maxWhy) {
		return web.Sentence(fault.Invalid("reason", "It must have at most %d characters of text.", maxWhy))
	}
	a, err := s.Dispatch.CutOff(c.Request().Context(), who, c.Param("name"), reason)
	if err != nil {
		return err
	}
	return s.fleetChanged(c, who, ui.Toast{Tone: ui.OK, Title: a.Name + " was cut off",
		Text: "None of its calls is answered any more. What it worked on went back to the queue."})
}

// fleetChanged answers with the agents as they are now, or goes back to them.
func (s site) fleetChanged(c echo.Context, who tenancy.Principal, t ui.Toast) error {
	if !web.IsHX(c) {
		s.SetFlash(c, t)
		return web.SeeOther(c, links.Agents)
	}
	at, err := url.Parse(web.CurrentPath(c.Request()))
	if err != nil {
		at = &url.URL{}
	}
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return err
	}
	r := s.Request(c, who, snap)
	r.Query = at.Query()
	m, err := s.read(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, templ.Join(view.Live(m), layout.LiveToast(t)))
}
