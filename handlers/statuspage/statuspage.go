// Package statuspage is the page of the coordinator: who leads, what it did, how the
// queue went in the last day, and its log.
package statuspage

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/statuspage"
	"github.com/fleetboard/fleetboard/views/ui"
)

type site struct{ *web.Site }

// New declares the page. ?before= names a line of the coordinator's log.
func New(s *web.Site) web.Page[pageData] {
	p := site{s}
	return web.Page[pageData]{
		Site: s, Path: links.Status, Need: tenancy.ReadBoard, Section: layout.SectionStatus, Title: "Status",
		Read: p.read,
		View: func(shell layout.Shell, d pageData) templ.Component {
			shell.Now, shell.Health = d.now, web.HealthModel(d.status)
			return view.View(shell, d.model())
		},
		Live: web.Live[pageData]{
			View:    func(d pageData) templ.Component { return view.Live(d.model()) },
			Changes: func(u *screens.Update) bool { return u.Fleet != nil },
			Ages:    true, // the coordinator makes no events
			Check:   func(q url.Values) error { _, err := parseBefore(q); return err },
		},
		Actions: []web.Route{web.Post(links.Recover, tenancy.RunFleet, p.recover), web.Post(links.NoteLosses, tenancy.RunFleet, p.note)},
	}
}

// parseBefore reads the place in the log, 0 for its newest line. Fault: NotFound.
func parseBefore(q url.Values) (int64, error) {
	text := q.Get("before")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.NotFound, "The log has no such place.")
	}
	return n, nil
}

// read reads what the page shows beside the fleet.
func (s site) read(ctx context.Context, r web.Request) (d pageData, err error) {
	d = pageData{snap: r.Fleet, canRun: r.Who.Can(tenancy.RunFleet), version: s.Version}
	if d.before, err = parseBefore(r.Query); err != nil {
		return d, err
	}
	asked := time.Now()
	if d.status, err = s.Coordinator.Status(ctx); err != nil {
		return d, err
	}
	d.took = time.Since(asked)
	d.wakeups, d.servers = s.Coordinator.Transport(), s.Servers.Live()
	if s.Backups != nil {
		is, err := s.Backups()
		if err != nil {
			return d, err
		}
		d.backups = &is
	}
	if d.now = d.status.Now; d.now.IsZero() {
		d.now = r.Now()
	}
	if d.proofs, err = s.Proof.List(ctx); err != nil {
		return d, err
	}
	if d.losses, err = s.Losses.List(ctx, r.Who); err != nil {
		return d, err
	}
	if d.hours, err = s.Coordinator.Queue(ctx, r.Who); err != nil {
		return d, err
	}
	if d.canRun {
		d.lines, d.older, err = s.Coordinator.Logs(ctx, r.Who, coordinator.LogFilter{Before: d.before, Limit: statusLines})
	}
	return d, err
}

// recover does the coordinator's work in the workspace once.
func (s site) recover(c echo.Context, who tenancy.Principal) error {
	did, err := s.Dispatch.Recover(c.Request().Context(), who)
	if err != nil {
		return err
	}
	s.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "The workspace was looked through", Text: recoveredText(did)})
	return web.SeeOther(c, links.Status)
}

// note says that what the database lacks is known.
func (s site) note(c echo.Context, who tenancy.Principal) error {
	n, err := s.Losses.Note(c.Request().Context(), who)
	if err != nil {
		return err
	}
	if n > 0 {
		s.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "Noted", Text: "What is missing stays on this page."})
	}
	return web.SeeOther(c, links.Status)
}
