package offer

import (
	"context"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// maxEnded is how many ended offers one look finds.
	maxEnded = 1000
	// firstLook is how far back the first look of a process at a workspace goes.
	firstLook = time.Minute
)

// Ended is an offer whose time is over, of a job that is still ready.
type Ended struct {
	Offer

	Turn int // 0 is a wait for a factory that had no seat
	Lane int64
}

// Endings finds offers whose time is over, each once in a process.
type Endings struct {
	mu   sync.Mutex
	seen map[ids.ID]time.Time // until when it was looked, by the database's clock
}

// NewEndings returns endings that nobody has looked for yet.
func NewEndings() *Endings { return &Endings{seen: map[ids.ID]time.Time{}} }

// EndedTx returns the offers of a workspace that have ended since the last look, and how long the one
// stands that ends next, 0 where none stands.
func (e *Endings) EndedTx(ctx context.Context, tx db.Tx, workspace ids.ID) (ended []Ended, next time.Duration, err error) {
	row, err := q.OfferNext(ctx, tx, workspace)
	if err != nil {
		return nil, 0, err
	}
	e.mu.Lock()
	since, looked := e.seen[workspace]
	e.mu.Unlock()
	if !looked {
		since = row.Now.Add(-firstLook)
	}
	rows, err := q.OffersEnded(ctx, tx, workspace, since, row.Now, maxEnded)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows {
		ended = append(ended, Ended{Offer: Offer{Workspace: workspace, Job: r.JobID, Version: int64(r.JobVersion), FactoryID: r.FactoryID,
			Factory: r.Factory, ExpiresAt: r.ExpiresAt}, Turn: r.Turn, Lane: r.LaneID})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen[workspace] = row.Now
	return ended, max(0, seconds(row.Stands)), nil
}
