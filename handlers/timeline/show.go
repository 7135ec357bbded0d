package timeline

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/timeline"
)

// timelineSize is how many events the timeline shows at once.
const timelineSize = 50

// show answers with the page of the event log, the newest first. With
// ?before=<place> it shows an older part, without live news; for htmx that is
// only the lines.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	before, err := eventlog.ParseCursor(c.QueryParam("before"))
	if err != nil {
		return err
	}
	filter, err := parseTimeline(c.QueryParams())
	if err != nil {
		return err
	}
	// The place in the log first: what happens from here on is news.
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	sheet, err := p.read(ctx, who, filter, before)
	if err != nil {
		return err
	}
	sheet.now, sheet.fleet = web.Now(around.Fleet), around.Fleet
	if web.IsHX(c) && sheet.past {
		return web.Render(c, http.StatusOK, events.Rows(sheet.model().Items))
	}
	shell, err := p.Page(c, who, around.Fleet, layout.SectionTimeline, "Timeline")
	if err != nil {
		return err
	}
	if !sheet.past && sheet.noJob == "" {
		shell.LiveURL = links.LiveTimeline(newest(around.Cursor, sheet.events), sheet.filter)
	}
	return web.RenderLive(c, http.StatusOK, shell, view.View(shell, sheet.model()))
}

// newest returns the place after what the page shows: the log's head when it was
// read, or the first event where that is later.
func newest(head string, events []eventlog.Event) string {
	at, err := eventlog.ParseCursor(head)
	if len(events) > 0 && err == nil && at.Before(events[0].Cursor) {
		return events[0].Cursor.String()
	}
	return head
}

func (p *Pages) read(ctx context.Context, who tenancy.Principal, filter links.TimelineFilter, before eventlog.Cursor) (pageData, error) {
	sheet := pageData{filter: filter, past: before != eventlog.Cursor{}}
	f, job, err := p.logFilter(ctx, who, filter)
	if fault.Is(err, fault.NotFound) {
		sheet.noJob = job
		return sheet, nil
	}
	if err != nil {
		return sheet, err
	}
	events, place, err := p.Events.Older(ctx, who, f, before, timelineSize)
	if err != nil {
		return sheet, err
	}
	sheet.events = events
	sheet.titles, err = p.Jobs.Titles(ctx, who, listJobs(events))
	if place != (eventlog.Cursor{}) {
		sheet.older = place.String()
	}
	return sheet, err
}

// listJobs returns the jobs that events are of, each once.
func listJobs(events []eventlog.Event) (list []ids.ID) {
	for _, e := range events {
		if e.JobID != nil && !slices.Contains(list, *e.JobID) {
			list = append(list, *e.JobID)
		}
	}
	return list
}

// logFilter returns the filter as the log takes it; NotFound with the key that no job has.
func (p *Pages) logFilter(ctx context.Context, who tenancy.Principal, filter links.TimelineFilter) (eventlog.Filter, string, error) {
	f := eventlog.Filter{Types: groupTypes(filter), Quiet: !filter.Progress, Actors: filter.Actors}
	for _, key := range filter.Jobs {
		job, err := p.Jobs.Get(ctx, who, key)
		if err != nil {
			return f, key, err
		}
		f.Jobs = append(f.Jobs, job.ID)
	}
	return f, "", nil
}
