// Package usage is the page of usage: what models were used for, in groups that filter
// each other, and entry by entry.
package usage

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/usagecsv"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/usage"
)

// Deps is what the page needs.
type Deps struct {
	Web     *web.Site
	Usage   Usage
	Screens Screens
	// Turns are those of the pages of a download; nil is no limit.
	Turns *quota.Turns
}

// Usage is what the page asks of usage.
type Usage interface {
	Report(ctx context.Context, who tenancy.Principal, query usage.Query, most int, by ...usage.Dimension) (usage.Report, error)
	Entries(ctx context.Context, who tenancy.Principal, query usage.EntryQuery) (list []usage.Entry, more bool, err error)
	Unpriced(ctx context.Context, who tenancy.Principal, query usage.Query) ([]usage.Named, error)
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	PageContext(ctx context.Context, who tenancy.Principal) (screens.PageContext, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the page and what is downloaded from it.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Usage, tenancy.ReadBoard, p.show),
		web.Get(links.UsageGroups, tenancy.ReadBoard, p.groups),
		web.Get(links.UsageEntries, tenancy.ReadBoard, p.entries),
	}
}

const (
	// shownGroups is how many groups of a dimension the page shows.
	shownGroups = 8
	// shownEntries is how many entries a page has.
	shownEntries = 25
	// writeTime is how long a page of entries may take to be written.
	writeTime = 30 * time.Second
)

// show is the page.
func (p *Pages) show(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	asked, err := parseAsked(c.QueryParams(), time.Now())
	if err != nil {
		return err
	}
	around, err := p.Screens.PageContext(ctx, who)
	if err != nil {
		return err
	}
	report, err := p.Usage.Report(ctx, who, asked.query, shownCells, append(panelDimensions(), asked.strip())...)
	if err != nil {
		return err
	}
	seen := sheet{asked: asked, report: report, now: around.Fleet.Now, mayPrice: who.Can(tenancy.Manage)}
	if report.Total.Unpriced > 0 {
		if seen.unpriced, err = p.Usage.Unpriced(ctx, who, asked.query); err != nil {
			return err
		}
	}
	query := usage.EntryQuery{Query: asked.query, Before: asked.before, Limit: shownEntries}
	seen.entries, seen.more, err = p.Usage.Entries(ctx, who, query)
	if err != nil {
		return err
	}
	shell, err := p.Web.Page(c, who, around.Fleet, layout.SectionBudgets, "Usage")
	if err != nil {
		return err
	}
	m := view.Page{Shell: shell, Usage: seen.model(), Filters: asked.chips(), Periods: asked.periods()}
	return web.Render(c, http.StatusOK, view.View(m))
}

// groups are the groups of one dimension as CSV.
func (p *Pages) groups(c echo.Context, who tenancy.Principal) error {
	asked, err := parseAsked(c.QueryParams(), time.Now())
	if err != nil {
		return err
	}
	by := usage.Dimension(c.QueryParam("by"))
	report, err := p.Usage.Report(c.Request().Context(), who, asked.query, usage.MaxGroups, by)
	if err != nil {
		return err
	}
	if n := report.By[by].Count; n > usage.MaxGroups {
		return fault.Invalid("by", "These are %d groups, and a file has at most %d: take a shorter period or filter.", n, usage.MaxGroups)
	}
	var text bytes.Buffer
	if err := usagecsv.WriteSums(&text, by, report.By[by].Sums); err != nil {
		return err
	}
	download(c, "usage-by-"+string(by), asked)
	return c.Blob(http.StatusOK, usagecsv.ContentType, text.Bytes())
}

// entries are all entries as CSV, page by page. What breaks off is cut, so that nobody
// takes a part for the whole.
func (p *Pages) entries(c echo.Context, who tenancy.Principal) error {
	asked, err := parseAsked(c.QueryParams(), time.Now())
	if err != nil {
		return err
	}
	ctx, query := c.Request().Context(), usage.EntryQuery{Query: asked.query, Limit: usage.MaxEntries}
	first, more, err := p.Usage.Entries(ctx, who, query)
	if err != nil {
		return err
	}
	download(c, "usage-entries", asked)
	c.Response().Header().Set(echo.HeaderContentType, usagecsv.ContentType)
	c.Response().WriteHeader(http.StatusOK)
	err = usagecsv.WriteEntries(c.Response(), first, more, func(last usage.Position) ([]usage.Entry, bool, error) {
		// Where the connection cannot be given more time, the server's own limit holds.
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(writeTime))
		query.Before = last
		turn, err := p.Turns.Await(ctx, who)
		if err != nil {
			return nil, false, err
		}
		defer turn.End()
		return p.Usage.Entries(ctx, who, query)
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// download has the browser save the answer under a name.
func download(c echo.Context, name string, a asked) {
	c.Response().Header().Set(echo.HeaderContentDisposition,
		fmt.Sprintf("attachment; filename=%s.csv", strconv.Quote(name+"-"+a.query.Until.Format("2006-01-02"))))
}
