package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"fleetboard/db"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
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

// within reports whether an agent with this scope may take jobs of the lane, whatever
// is advertised.
func (l lane) within(scope tenancy.Scope) bool {
	return (l.factory == "" || scope.Factory == "" || l.factory == scope.Factory) && allows(scope, l.needs)
}

// allows reports whether a scope allows what a job needs. Repos do not count: products
// limit them.
func allows(scope tenancy.Scope, needs []string) bool {
	return len(fleet.Within(scope, needs)) == len(needs)
}

// laneCache keeps the lanes of each workspace in memory. Lanes are never changed
// or taken away, so that a book can only be too short.
type laneCache struct {
	db *db.DB

	mu    sync.Mutex
	pages map[ids.ID][]lane
}

func newLaneCache(d *db.DB) *laneCache {
	return &laneCache{db: d, pages: map[ids.ID][]lane{}}
}

// of gives a workspace's lanes, read anew where the newest one known to the
// database is not among those known here.
func (b *laneCache) of(ctx context.Context, tx db.Tx, workspace ids.ID, newest int64) ([]lane, error) {
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

// one gives one lane of a workspace.
func (b *laneCache) one(ctx context.Context, tx db.Tx, workspace ids.ID, id int64) (lane, error) {
	page, err := b.of(ctx, tx, workspace, id)
	if err != nil {
		return lane{}, err
	}
	at, ok := placeOf(page, id)
	if !ok {
		return lane{}, fmt.Errorf("a job stands in lane %d, which is not there", id)
	}
	return page[at], nil
}

func holds(page []lane, id int64) bool {
	if id == 0 {
		return true
	}
	_, ok := placeOf(page, id)
	return ok
}

func placeOf(page []lane, id int64) (int, bool) {
	return slices.BinarySearchFunc(page, id, func(l lane, id int64) int { return cmp.Compare(l.id, id) })
}

func (b *laneCache) knows(workspace ids.ID, id int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return holds(b.pages[workspace], id)
}

func (b *laneCache) forget(workspace ids.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pages, workspace)
}

func (b *laneCache) forgetAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.pages)
}
