package dispatch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"fleetboard/db"
	"fleetboard/internal/ids"
)

// lane is a set of needs that jobs share.
type lane struct {
	id      int64
	product ids.ID
	needs   []string // sorted
	factory string
}

// serves reports whether an agent of the factory with these offers (sorted) may
// take jobs of the lane.
func (l lane) serves(factory string, offers []string) bool {
	if l.factory != "" && l.factory != factory {
		return false
	}
	for _, need := range l.needs {
		if _, ok := slices.BinarySearch(offers, need); !ok {
			return false
		}
	}
	return true
}

// laneBook keeps the lanes of each workspace in memory. Lanes are never changed
// or taken away, so that a book can only be too short.
type laneBook struct {
	db *db.DB

	mu    sync.Mutex
	pages map[ids.ID][]lane
}

func newLaneBook(d *db.DB) *laneBook {
	return &laneBook{db: d, pages: map[ids.ID][]lane{}}
}

// of gives a workspace's lanes, read anew where the newest one known to the
// database is not among those known here.
func (b *laneBook) of(ctx context.Context, tx db.Tx, workspace ids.ID, newest int64) ([]lane, error) {
	b.mu.Lock()
	page, known := b.pages[workspace]
	b.mu.Unlock()
	if known && holds(page, newest) {
		return page, nil
	}
	rows, err := q.LaneList(ctx, tx, workspace)
	if err != nil {
		return nil, fmt.Errorf("list lanes: %w", err)
	}
	page = make([]lane, 0, len(rows))
	for _, r := range rows {
		page = append(page, lane{id: r.ID, product: r.ProductID, needs: r.Needs, factory: r.Factory})
	}
	b.mu.Lock()
	b.pages[workspace] = page
	b.mu.Unlock()
	return page, nil
}

func holds(page []lane, id int64) bool {
	if id == 0 {
		return true
	}
	_, ok := slices.BinarySearchFunc(page, id, func(l lane, id int64) int { return int(l.id - id) })
	return ok
}

func (b *laneBook) knows(workspace ids.ID, id int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return holds(b.pages[workspace], id)
}

func (b *laneBook) forget(workspace ids.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, workspace)
}

func (b *laneBook) forgetAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.pages)
}
