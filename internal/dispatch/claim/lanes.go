package claim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// laneCache caches the lanes of each workspace. Lanes are never changed or removed, so a list
// can only be too short.
type laneCache struct {
	mu    sync.Mutex
	lists map[ids.ID][]lane
}

func newLaneCache() *laneCache {
	return &laneCache{lists: map[ids.ID][]lane{}}
}

// of returns a workspace's lanes. It reads them again where the newest lane in the database is not
// in the cache.
func (b *laneCache) of(ctx context.Context, tx db.Tx, workspace ids.ID, newest int64) ([]lane, error) {
	b.mu.Lock()
	list, known := b.lists[workspace]
	b.mu.Unlock()
	if known && holds(list, newest) {
		return list, nil
	}
	list, err := readLanes(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.lists[workspace] = list
	b.mu.Unlock()
	return list, nil
}

// one returns one lane of a workspace.
func (b *laneCache) one(ctx context.Context, tx db.Tx, workspace ids.ID, id int64) (lane, error) {
	list, err := b.of(ctx, tx, workspace, id)
	if err != nil {
		return lane{}, err
	}
	at, ok := findLane(list, id)
	if !ok {
		return lane{}, fmt.Errorf("a job stands in lane %d, which is not there", id)
	}
	return list[at], nil
}

func holds(list []lane, id int64) bool {
	if id == 0 {
		return true
	}
	_, ok := findLane(list, id)
	return ok
}

func findLane(list []lane, id int64) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(l lane, id int64) int { return cmp.Compare(l.ID, id) })
}

func (b *laneCache) knows(workspace ids.ID, id int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return holds(b.lists[workspace], id)
}

func (b *laneCache) forget(workspace ids.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.lists, workspace)
}

func (b *laneCache) forgetAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.lists)
}
