package messages

import (
	"context"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/messages"
)

// livePage is the page among the live pages.
type livePage struct{ pages *Pages }

// Name returns what ?on= calls it.
func (livePage) Name() string { return "messages" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.Messages }

// Key is of one person: what somebody has read is theirs.
func (livePage) Key(q url.Values, who tenancy.Principal) string {
	return who.Account.String() + " " + live.KeyByRole(q, who)
}

// Open makes the live part of the page.
func (p livePage) Open(c echo.Context, who tenancy.Principal, _ fleet.Snapshot) (live.View, error) {
	return &liveMessages{pages: p.pages, who: who, at: parseView(c.QueryParams())}, nil
}

// Parts are none: the page shows no job as it is now.
func (livePage) Parts(echo.Context, tenancy.Principal, *url.URL, live.Act) ([]templ.Component, error) {
	return nil, nil
}

// liveMessages is the live part of the page.
type liveMessages struct {
	pages *Pages
	who   tenancy.Principal
	at    links.MessageView
}

// Listen notifies of messages.
func (r *liveMessages) Listen() (changed <-chan struct{}, stop func()) {
	return r.pages.Bus.Watch(r.who.Workspace)
}

// Change does nothing: what the board shows comes in messages.
func (r *liveMessages) Change(context.Context, *screens.Update) (live.Update, error) {
	return live.Update{}, nil
}

// Refresh reads the page again.
func (r *liveMessages) Refresh(ctx context.Context) ([]templ.Component, error) {
	snap, err := r.pages.Fleet.Snapshot(ctx, r.who)
	if err != nil {
		return nil, err
	}
	d, err := r.pages.read(ctx, r.who, r.at, snap)
	return []templ.Component{view.Live(d.model())}, err
}

// Heard reads the page again.
func (r *liveMessages) Heard(ctx context.Context) ([]templ.Component, error) { return r.Refresh(ctx) }

// Ages is true: what a transaction keeps back shows later without a sign of its own.
func (r *liveMessages) Ages() bool { return true }
