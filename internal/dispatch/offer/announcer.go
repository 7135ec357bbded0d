package offer

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Offer is a ready job that one factory may take before all others.
type Offer struct {
	Workspace, Job ids.ID
	// Version is that of the job that is offered: an offer of another version has ended.
	Version   int64
	FactoryID ids.ID
	Factory   string // its name
	ExpiresAt time.Time
}

// Announcer says to others which offers begin and end, such as over a broker. It is called after the
// commit that made it so, by the process that committed, and must not wait for a network: claims are
// answered after it returns. An announcement may be lost with its process; the rows decide.
type Announcer interface {
	// Offered says that jobs are offered to factories.
	Offered(ctx context.Context, list []Offer)
	// Ended says that offers have ended: the job was taken, or its time was over, or the factory
	// could not have taken it any more. An offer that follows is announced by itself.
	Ended(ctx context.Context, list []Offer)
}
