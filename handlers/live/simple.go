package live

import (
	"context"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Simple returns the live part of a declared page: it reads the page again and shows it.
func Simple[M any](p web.Page[M]) Page { return simplePage[M]{p} }

type simplePage[M any] struct{ web.Page[M] }

// Shows reports whether an address is the page's.
func (p simplePage[M]) Shows(at *url.URL) bool { return at.Path == p.Path }

// Key returns what the address selects, for each role or person.
func (p simplePage[M]) Key(query url.Values, who tenancy.Principal) string {
	if p.Live.Personal {
		return who.Account.String() + " " + KeyByRole(query, who)
	}
	return KeyByRole(query, who)
}

// Open makes the live part of the page.
func (p simplePage[M]) Open(c echo.Context, who tenancy.Principal, _ fleet.Snapshot) (View, error) {
	v := p.view(c, who, links.StreamQuery(c.QueryParams()))
	if p.Live.Check != nil {
		if err := p.Live.Check(v.request.Query); err != nil {
			return nil, err
		}
	}
	if p.Live.Watch != nil {
		return listeningView[M]{v}, nil
	}
	return v, nil
}

// Parts returns the page as it is now.
func (p simplePage[M]) Parts(c echo.Context, who tenancy.Principal, at *url.URL, _ Act) ([]templ.Component, error) {
	return p.view(c, who, at.Query()).Refresh(c.Request().Context())
}

func (p simplePage[M]) view(c echo.Context, who tenancy.Principal, query url.Values) simpleView[M] {
	return simpleView[M]{p.Page, web.Request{Who: who, Query: query, Server: p.Site.ServerURL(c)}}
}

// simpleView shows a page at one address.
type simpleView[M any] struct {
	page    web.Page[M]
	request web.Request
}

// Change has the page read again where it may be another now.
func (v simpleView[M]) Change(ctx context.Context, u *screens.Update) (Update, error) {
	changes := v.page.Live.Changes != nil && v.page.Live.Changes(u)
	if !changes || !v.page.Live.AtOnce {
		return Update{Later: changes}, nil
	}
	parts, err := v.Refresh(ctx)
	return Update{Parts: parts}, err
}

// Refresh reads the page again.
func (v simpleView[M]) Refresh(ctx context.Context) ([]templ.Component, error) {
	r := v.request
	var err error
	if r.Fleet, err = v.page.Site.Fleet.Snapshot(ctx, r.Who); err != nil {
		return nil, err
	}
	m, err := v.page.Read(ctx, r)
	return []templ.Component{v.page.Live.View(m)}, err
}

// Ages reports whether the page changes without an event.
func (v simpleView[M]) Ages() bool { return v.page.Live.Ages }

// listeningView shows a page that changes with more than the board does.
type listeningView[M any] struct{ simpleView[M] }

// Listen notifies of what the page listens to.
func (v listeningView[M]) Listen() (changed <-chan struct{}, stop func()) {
	return v.page.Live.Watch(v.request.Who.Workspace)
}

// Heard reads the page again.
func (v listeningView[M]) Heard(ctx context.Context) ([]templ.Component, error) {
	return v.Refresh(ctx)
}
