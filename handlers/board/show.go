package board

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

// emptyParam says to the stream that its page shows no job.
const emptyParam = "empty"

// show answers with the board, or the first run while there has never been a job.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	filter, err := parseFilter(c.QueryParams())
	if err != nil {
		return err
	}
	b, err := p.Screens.Board(ctx, who, narrowed(filter))
	if err != nil {
		return err
	}
	running, capped := countColumn(b.Columns, screens.Running)
	shell, err := p.Page(c, who, b.Fleet, layout.SectionBoard, boardTitle(running, capped))
	if err != nil {
		return err
	}
	shell.LiveURL = links.LiveBoard(b.Cursor, filter)
	if b.Total == 0 {
		shell.LiveURL += "&" + emptyParam + "=1"
	}
	page := view.Page{Shell: shell, Board: newBoardView(filter, who, b).board(b)}
	empty, err := p.neverUsed(ctx, who, b, filter)
	if err != nil {
		return err
	}
	if empty {
		first := p.FirstRun(ctx, p.Request(c, who, b.Fleet))
		page.Board.FirstRun, page.Board.NoMatch = &first, nil
	}
	web.OneNote(c, shell.Section, page.Board.Note, shell.Money)
	return web.RenderLive(c, http.StatusOK, shell, view.View(page))
}

func newBoardView(filter links.Filter, who tenancy.Principal, b screens.Board) boardView {
	return boardView{filter: filter, canWrite: who.Can(tenancy.WriteJobs), now: web.Now(b.Fleet), snap: b.Fleet}
}

// neverUsed reports whether the workspace has no job at all, not even one that
// the board does not show any more.
func (p *Pages) neverUsed(ctx context.Context, who tenancy.Principal, b screens.Board, filter links.Filter) (bool, error) {
	if b.Total > 0 || !narrowed(filter).IsZero() {
		return false, nil
	}
	list, _, err := p.Jobs.List(ctx, who, jobs.Filter{Limit: 1})
	return len(list) == 0, err
}

func countColumn(columns []screens.ColumnPage, c screens.Column) (n int, capped bool) {
	for _, p := range columns {
		if p.Column == c {
			return p.Count, p.Capped
		}
	}
	return 0, false
}

// column answers with the rest of a column: its cards for htmx, a page of its own
// for a browser without JavaScript.
func (p *Pages) column(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	filter, err := parseFilter(c.QueryParams())
	if err != nil {
		return err
	}
	name := screens.Column(c.Param("column"))
	if jobparts.ColumnTitles[name] == "" {
		return fault.New(fault.NotFound, "The board has no such column.")
	}
	page, err := p.Screens.ColumnPage(ctx, who, narrowed(filter), name, c.QueryParam("after"))
	if err != nil {
		return err
	}
	snap, err := p.Fleet.Snapshot(ctx, who)
	if err != nil {
		return err
	}
	column := boardView{filter: filter, canWrite: who.Can(tenancy.WriteJobs), now: web.Now(snap), snap: snap}.column(page)
	if web.IsHX(c) {
		return web.Render(c, http.StatusOK, view.ColumnItems(column))
	}
	shell, err := p.Page(c, who, snap, layout.SectionBoard, column.Title)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.ColumnView(shell, column))
}
