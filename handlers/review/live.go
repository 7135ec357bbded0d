package review

import (
	"context"
	"net/url"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// livePage is the review among the live pages.
type livePage struct{ pages *Pages }

// Name is what ?on= calls it.
func (livePage) Name() string { return "review" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.Review }

// Key is what the address asks for, for each role.
func (livePage) Key(q url.Values, who tenancy.Principal) string { return live.KeyByRole(q, who) }

// Open makes the live part of the page.
func (p livePage) Open(c echo.Context, who tenancy.Principal, _ fleet.Snapshot) (live.View, error) {
	return &liveReview{pages: p.pages, who: who, at: place{key: c.QueryParam("job"), after: c.QueryParam("page")}}, nil
}

// Parts show the page as it is now.
func (p livePage) Parts(c echo.Context, who tenancy.Principal, at *url.URL, _ live.Act) ([]templ.Component, error) {
	return p.pages.parts(c.Request().Context(), who, place{key: at.Query().Get("job"), after: at.Query().Get("after")})
}

// liveReview is the live part of the review page.
type liveReview struct {
	pages *Pages
	who   tenancy.Principal
	at    place
}

// Change sends all of it anew, where a job of the review changed.
func (r *liveReview) Change(ctx context.Context, u *screens.Update) (live.Update, error) {
	if !aboutReview(u) {
		return live.Update{}, nil
	}
	parts, err := r.Refresh(ctx)
	return live.Update{Parts: parts}, err
}

// Refresh reads the page again.
func (r *liveReview) Refresh(ctx context.Context) ([]templ.Component, error) {
	return r.pages.parts(ctx, r.who, r.at)
}

// Ages is false: the browser keeps the ages fresh by itself.
func (r *liveReview) Ages() bool { return false }

// aboutReview reports whether a job came to the review, left it, or went on in
// it.
func aboutReview(u *screens.Update) bool {
	return live.Holds(u.Touched, screens.Review) || slices.ContainsFunc(u.Cards, func(c screens.Card) bool {
		return c.Job.Status == jobs.InReview || c.Job.Status == jobs.Approved
	})
}
