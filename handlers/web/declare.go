package web

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
)

// Page declares a page: its address, who may open it, what it reads and what that looks
// like. M is what it shows.
type Page[M any] struct {
	Site    *Site
	Path    string
	Need    tenancy.Permission
	Section layout.Section
	Title   string
	// Read reads what the page shows, and reads it again for the live part.
	Read func(ctx context.Context, r Request) (M, error)
	View func(shell layout.Shell, m M) templ.Component
	// Lead returns the address that the page leads on to, "" where it is shown. May be nil.
	Lead func(m M) string
	// Live keeps an open page up to date. Without a View the page has no live part.
	Live Live[M]
	// Actions are the other routes of the page: what people do on it.
	Actions []Route
}

// Live declares the live part of a page; live.Simple runs it.
type Live[M any] struct {
	View func(m M) templ.Component
	// Changes reports whether a change of the board may change what the page shows. It is then
	// read again, with what else changes in the same second, or at once where AtOnce is set.
	Changes func(u *screens.Update) bool
	AtOnce  bool
	// Listen has the page read again when a channel of a workspace brings something: what it
	// shows is not in the board's log. May be nil.
	Listen func(workspace ids.ID) (changed <-chan struct{}, stop func())
	// Ages has the page read again with each heartbeat: it shows what changes without an event.
	Ages bool
	// Personal is set where people of one role do not see the same.
	Personal bool
	// Check refuses addresses that Read would refuse, before a stream begins. May be nil.
	Check func(query url.Values) error
}

// Request is what Read gets.
type Request struct {
	Who    tenancy.Principal
	Query  url.Values     // of the page's address, with the parameters of its path
	Fleet  fleet.Snapshot // as it is now
	Server string         // the address that the reader reached us by
}

// Request returns what a request selects.
func (s *Site) Request(c echo.Context, who tenancy.Principal, snap fleet.Snapshot) Request {
	r := Request{Who: who, Query: maps.Clone(c.QueryParams()), Fleet: snap, Server: s.ServerURL(c)}
	for i, name := range c.ParamNames() {
		r.Query.Set(name, c.ParamValues()[i])
	}
	return r
}

// Now returns the database's time.
func (r Request) Now() time.Time { return Now(r.Fleet) }

// Routes returns the page and its actions, each with the permission it needs.
func (p Page[M]) Routes() []Route {
	return append([]Route{Get(p.Path, p.Need, p.show)}, p.Actions...)
}

// Name returns what the address of the page's stream calls it.
func (p Page[M]) Name() string { return strings.TrimPrefix(p.Path, "/") }

func (p Page[M]) show(c echo.Context, who tenancy.Principal) error {
	return p.Show(c, who, http.StatusOK, func(*M) {})
}

// Show shows the page with a status, after change has put into it what only this answer
// shows, such as a refused form.
func (p Page[M]) Show(c echo.Context, who tenancy.Principal, status int, change func(m *M)) error {
	ctx := c.Request().Context()
	// The place in the log first: what happens from here on is news.
	frame, err := p.Site.Screens.Frame(ctx, who)
	if err != nil {
		return err
	}
	r := p.Site.Request(c, who, frame.Fleet)
	m, err := p.Read(ctx, r)
	if err != nil {
		return err
	}
	if p.Lead != nil {
		if to := p.Lead(m); to != "" {
			return SeeOther(c, to)
		}
	}
	change(&m)
	shell, err := p.Site.shell(c, who, frame, p.Section, p.Title)
	if err != nil {
		return err
	}
	if p.Live.View != nil {
		shell.LiveURL = links.Live(p.Name(), frame.Cursor, r.Query)
	}
	return Render(c, status, p.View(shell, m))
}
