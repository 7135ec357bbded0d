// Package usage is the page of usage: what models were used for, in groups that filter
// each other, and entry by entry.
package usage

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/usagecsv"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/usage"
)

type site struct{ *web.Site }

// New declares the page.
func New(s *web.Site) web.Page[view.Usage] {
	p := site{s}
	return web.Page[view.Usage]{
		Site: s, Path: links.Usage, Need: tenancy.ReadBoard, Section: layout.SectionBudgets, Title: "Usage",
		Read: p.read, View: view.View,
		Actions: []web.Route{
			web.Get(links.UsageGroups, tenancy.ReadBoard, p.groups),
			web.Get(links.UsageEntries, tenancy.ReadBoard, p.entries),
			web.Get(links.UsageFocus, tenancy.ReadBoard, p.charges),
		},
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

func (s site) read(ctx context.Context, r web.Request) (m view.Usage, err error) {
	asked, err := parseAsked(r.Query, time.Now())
	if err != nil {
		return m, err
	}
	seen := sheet{asked: asked, now: r.Fleet.Now, mayPrice: r.Who.Can(tenancy.Manage)}
	if seen.report, err = s.Usage.Report(ctx, r.Who, asked.query, shownCells, append(panelDimensions(), asked.step())...); err != nil {
		return m, err
	}
	if seen.parts, err = s.stacked(ctx, r.Who, seen); err != nil {
		return m, err
	}
	if seen.report.Total.Unpriced > 0 {
		if seen.unpriced, err = s.Usage.Unpriced(ctx, r.Who, asked.query); err != nil {
			return m, err
		}
	}
	query := usage.EntryQuery{Query: asked.query, Before: asked.before, Limit: shownEntries}
	if seen.entries, seen.more, err = s.Usage.Entries(ctx, r.Who, query); err != nil {
		return m, err
	}
	m = seen.model()
	m.Filters, m.Periods = asked.chips(), asked.periods()
	all := seen.report
	if len(asked.query.Filter) > 0 {
		unfiltered := usage.Query{From: asked.query.From, Until: asked.query.Until}
		if all, err = s.Usage.Report(ctx, r.Who, unfiltered, offered, panelDimensions()...); err != nil {
			return m, err
		}
	}
	m.Menus = asked.menus(all)
	return m, nil
}

// stacked reads what each of the dearest groups spent by day or hour.
func (s site) stacked(ctx context.Context, who tenancy.Principal, seen sheet) ([]part, error) {
	groups := seen.report.By[seen.stack].Sums
	groups = groups[:min(len(groups), maxParts)]
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Group
	}
	steps, err := s.Usage.Steps(ctx, who, seen.query, seen.stack, names, seen.step())
	parts := make([]part, len(names))
	for i, name := range names {
		parts[i] = part{name: groupName(seen.stack, name), spent: steps[name]}
	}
	return parts, err
}

// groups answers with the groups of one dimension as CSV.
func (s site) groups(c echo.Context, who tenancy.Principal) error {
	asked, err := parseAsked(c.QueryParams(), time.Now())
	if err != nil {
		return err
	}
	by := usage.Dimension(c.QueryParam("by"))
	report, err := s.Usage.Report(c.Request().Context(), who, asked.query, usage.MaxGroups, by)
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

// entries answers with all entries as CSV, page by page.
func (s site) entries(c echo.Context, who tenancy.Principal) error {
	asked, err := parseAsked(c.QueryParams(), time.Now())
	if err != nil {
		return err
	}
	ctx, query := c.Request().Context(), usage.EntryQuery{Query: asked.query, Limit: usage.MaxEntries}
	first, more, err := s.Usage.Entries(ctx, who, query)
	if err != nil {
		return err
	}
	begin(c, "usage-entries", asked)
	return cutOff(usagecsv.WriteEntries(c.Response(), first, more, func(last usage.Position) ([]usage.Entry, bool, error) {
		query.Before = last
		return nextPage(s, c, who, func() ([]usage.Entry, bool, error) { return s.Usage.Entries(ctx, who, query) })
	}))
}

// charges answers with all charges as FOCUS has them, page by page.
func (s site) charges(c echo.Context, who tenancy.Principal) error {
	asked, err := parseAsked(c.QueryParams(), time.Now())
	if err != nil {
		return err
	}
	ctx, query := c.Request().Context(), usage.ChargeQuery{Query: asked.query, Limit: usage.MaxCharges}
	account, err := s.Usage.Account(ctx, who)
	if err != nil {
		return err
	}
	first, more, err := s.Usage.Charges(ctx, who, query)
	if err != nil {
		return err
	}
	begin(c, "usage-focus", asked)
	return cutOff(usagecsv.WriteFocus(c.Response(), account, first, more, func(last usage.Charge) ([]usage.Charge, bool, error) {
		query.After = last
		return nextPage(s, c, who, func() ([]usage.Charge, bool, error) { return s.Usage.Charges(ctx, who, query) })
	}))
}

// begin begins a file that is written page by page.
func begin(c echo.Context, name string, a asked) {
	download(c, name, a)
	c.Response().Header().Set(echo.HeaderContentType, usagecsv.ContentType)
	c.Response().WriteHeader(http.StatusOK)
}

// nextPage reads another page of a file, in a turn of its own and with time of its own to be written.
func nextPage[T any](s site, c echo.Context, who tenancy.Principal, read func() ([]T, bool, error)) ([]T, bool, error) {
	// Where the connection cannot be given more time, the server's own limit holds.
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(writeTime))
	turn, err := s.Turns.Await(c.Request().Context(), who)
	if err != nil {
		return nil, false, err
	}
	defer turn.End()
	return read()
}

// cutOff cuts a file that breaks off, so that nobody takes a part for the whole.
func cutOff(err error) error {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// download has the browser save the answer under a name.
func download(c echo.Context, name string, a asked) {
	c.Response().Header().Set(echo.HeaderContentDisposition,
		"attachment; filename="+strconv.Quote(name+"-"+a.query.Until.Format(time.DateOnly)+".csv"))
}
