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

// Page declares a page: its address, who may open it, what it reads and how that is shown. M
// is the page's model.
type Page[M any] struct {
	Site    *Site
	Path    string
	Need    tenancy.Permission
	Section layout.Section
	Title   string
	// Read returns the model of the page, and of its live part each time that it is sent.
	Read func(ctx context.Context, r Request) (M, error)
	View func(shell layout.Shell, m M) templ.Component
	// Lead returns an address to redirect to; "" shows the page. May be nil.
	Lead func(m M) string
	// Live is the part of the page that is kept up to date. Without a View there is none.
	Live Live[M]
	// Actions are the other routes of the page: what people do on it.
	Actions []Route
}

// Live declares the live part of a page; live.Simple runs it.
type Live[M any] struct {
	View func(m M) templ.Component
	// Changes reports whether a change of the board may change the live part. Then it is read
	// again, together with further changes of the same second, or at once where AtOnce is set.
	Changes func(u *screens.Update) bool
	AtOnce  bool
	// Watch returns a channel that signals changes which are not in the board's log. May be nil.
	Watch func(workspace ids.ID) (changed <-chan struct{}, stop func())
	// Ages is set where the page also changes without an event: it is read again with each
	// heartbeat.
	Ages bool
	// Personal is set where people of one role see different things.
	Personal bool
	// Check refuses addresses that Read would refuse, before a stream begins. May be nil.
	Check func(query url.Values) error
}

// Request is the request for a page, for Read.
type Request struct {
	Who    tenancy.Principal
	Query  url.Values     // of the page's address, with the parameters of its path
	Fleet  fleet.Snapshot // as it is now
	Server string         // the server's address as the reader reached it
}

// Request returns the request of a page for Read.
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

// Name returns the name of the page in the address of its stream.
func (p Page[M]) Name() string { return strings.TrimPrefix(p.Path, "/") }

func (p Page[M]) show(c echo.Context, who tenancy.Principal) error {
	return p.Show(c, who, http.StatusOK, func(*M) {})
}

// Show answers with the page and a status, after change has added what only this answer shows, such
// as a refused form.
func (p Page[M]) Show(c echo.Context, who tenancy.Principal, status int, change func(m *M)) error {
	ctx := c.Request().Context()
	// The cursor of the log is read first: the stream sends what changes from here on.
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
	return RenderLive(c, status, shell, p.View(shell, m))
}
