// Package messages is the page of the message bus: its threads and one of them at length,
// what is for the reader, dead letters, and the search in messages.
package messages

import (
	"context"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/messageparts"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Deps is what the page needs.
type Deps struct {
	Web     *web.Site
	Threads Threads
	Bus     Bus
	Dead    Dead
	Fleet   Fleet
	Members Members
	Screens Screens
	Blobs   messageparts.Blobs
}

// Threads is what the page asks of the threads of the bus.
type Threads interface {
	Threads(ctx context.Context, who tenancy.Principal, before int64, limit int) (list []bus.Conversation, next int64, err error)
	Newest(ctx context.Context, who tenancy.Principal, thread string, before int64, limit int) ([]bus.Message, error)
	Thread(ctx context.Context, who tenancy.Principal, name string, after int64, limit int) ([]bus.Message, error)
	Unread(ctx context.Context, who tenancy.Principal, threads ...string) (map[string]bool, error)
	Seen(ctx context.Context, who tenancy.Principal, thread string, seq int64) (int64, error)
}

// Bus is what the page asks of messages.
type Bus interface {
	Publish(ctx context.Context, who tenancy.Principal, list ...bus.Draft) ([]bus.Sent, error)
	Read(ctx context.Context, who tenancy.Principal, in bus.Query) (bus.Inbox, error)
	Search(ctx context.Context, who tenancy.Principal, words string, f bus.Filter, limit int) ([]bus.Found, error)
	Watch(workspace ids.ID) (changed <-chan struct{}, stop func())
}

// Dead is what the page asks of dead letters.
type Dead interface {
	DeadLetters(ctx context.Context, who tenancy.Principal, before int64, limit int) ([]bus.DeadLetter, error)
	Redrive(ctx context.Context, who tenancy.Principal, id ids.ID, once *idempotency.Key) error
	Discard(ctx context.Context, who tenancy.Principal, id ids.ID, once *idempotency.Key) error
}

// Fleet is what the page asks of factories and agents.
type Fleet interface {
	Snapshot(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error)
}

// Members is what the page asks of the workspace's people.
type Members interface {
	List(ctx context.Context, who tenancy.Principal) ([]members.Member, error)
}

// Screens is what the page asks of the read model of the board.
type Screens interface {
	PageContext(ctx context.Context, who tenancy.Principal) (screens.PageContext, error)
}

// Pages answers the requests of the page.
type Pages struct{ Deps }

// New returns the page.
func New(d Deps) *Pages { return &Pages{d} }

// Routes are the pages and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return []web.Route{
		web.Get(links.Messages, tenancy.ReadBoard, p.show),
		web.Post(links.SendMessage, tenancy.WriteJobs, p.send),
		web.Post(links.SeenMessages, tenancy.ReadBoard, p.seen),
		web.Post("/messages/dead/:message/redrive", tenancy.RunFleet, p.redrive),
		web.Post("/messages/dead/:message/discard", tenancy.RunFleet, p.discard),
	}
}

// Live is the page among those with a live part.
func (p *Pages) Live() live.Page { return livePage{p} }
