// Package board is the board: its columns and cards, what narrows it, and its
// live part.
package board

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web     *web.Site
	Fleet   Fleet
	Jobs    Jobs
	Screens Screens
}

// Fleet is what the page asks of factories and agents.
type Fleet interface {
	Snapshot(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
}

// Jobs is what the page asks of jobs.
type Jobs interface {
	List(ctx context.Context, who tenancy.Principal, f jobs.Filter) (list []jobs.Job, next string, err error)
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	Board(ctx context.Context, who tenancy.Principal, f screens.Filter) (screens.Board, error)
	Cards(ctx context.Context, who tenancy.Principal, list ...ids.ID) ([]screens.Card, error)
	ColumnPage(ctx context.Context, who tenancy.Principal, f screens.Filter, c screens.Column, after string) (screens.ColumnPage, error)
	ColumnPages(ctx context.Context, who tenancy.Principal, f screens.Filter, list ...screens.Column) ([]screens.ColumnPage, error)
	Unroutable(ctx context.Context, who tenancy.Principal) (screens.Unroutable, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages, fragments and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Board, tenancy.ReadBoard, p.show),
		web.Get(links.Board+"/column/:column", tenancy.ReadBoard, p.column),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
