package claim

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// laneCache caches the lanes of each workspace. Lanes are never changed or removed, so a list
// can only be too short.
type laneCache struct {
	mu    sync.Mutex
	lists map[ids.ID]laneList
	// read numbers the lists that were read from the first lane on.
	read uint64
}

// laneList is the lanes of a workspace by their ids. Lists of one number begin alike: new lanes were
// added at the end. A lane whose number is lower and that was committed later is missing until the list
// is read from the first lane on.
type laneList struct {
	lanes  []lane
	number uint64
	until  time.Time // when it is to be read from the first lane on, if there are new ones
}

// laneListTTL is how long new lanes are added to a list, whatever else was committed meanwhile.
const laneListTTL = 5 * time.Second

func newLaneCache() *laneCache {
	return &laneCache{lists: map[ids.ID]laneList{}}
}

// of returns a workspace's lanes. Where the newest lane in the database is not in the cache, it reads
// those that are newer than the cached ones, or all where that was long ago.
func (b *laneCache) of(ctx context.Context, tx db.Tx, workspace ids.ID, newest int64) (laneList, error) {
	b.mu.Lock()
	list, known := b.lists[workspace]
	b.mu.Unlock()
	if known && holds(list.lanes, newest) {
		return list, nil
	}
	var after int64
	if grows := known && len(list.lanes) > 0 && time.Now().Before(list.until); grows {
		after = list.lanes[len(list.lanes)-1].ID
	} else {
		list = laneList{until: time.Now().Add(laneListTTL)}
	}
	fresh, err := readLanes(ctx, tx, workspace, after)
	if err != nil {
		return laneList{}, err
	}
	list.lanes = slices.Concat(list.lanes, fresh)
	b.mu.Lock()
	defer b.mu.Unlock()
	if after == 0 {
		b.read++
		list.number = b.read
	}
	if now, kept := b.lists[workspace]; after == 0 || kept && now.number == list.number && len(now.lanes) < len(list.lanes) {
		b.lists[workspace] = list
	}
	return list, nil
}

// one returns one lane of a workspace. One that was committed after lanes with higher numbers is found by
// reading the list from the first lane on.
func (b *laneCache) one(ctx context.Context, tx db.Tx, workspace ids.ID, id int64) (lane, error) {
	for range 2 {
		list, err := b.of(ctx, tx, workspace, id)
		if err != nil {
			return lane{}, err
		}
		if at, ok := findLane(list.lanes, id); ok {
			return list.lanes[at], nil
		}
		b.forget(workspace)
	}
	return lane{}, fmt.Errorf("a job stands in lane %d, which is not there", id)
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
	return holds(b.lists[workspace].lanes, id)
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
