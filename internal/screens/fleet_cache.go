package screens

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxFleets is how many workspaces' fleets are kept.
	maxFleets = 256
	// maxFleetAge is how old a kept fleet may be: an agent that falls silent is no
	// change that anybody announces.
	maxFleetAge = 15 * time.Second
)

// Fleet gives the fleet of a workspace as it was when it last changed, or at most
// 15 seconds ago; Now is the present time. It costs a query only where the fleet has
// changed or grown old since the last call. The lists belong to all who ask and are
// not to be changed.
func (s *Service) Fleet(ctx context.Context, who tenancy.Principal) (fleet.Snapshot, error) {
	return s.fleet.get(ctx, who.Workspace)
}

func (s *Service) readFleet(ctx context.Context, workspace ids.ID) (fleet.Snapshot, error) {
	var snap fleet.Snapshot
	err := s.snapshot(ctx, workspace, func(tx db.Tx) (err error) {
		snap, err = fleet.SnapshotTx(ctx, tx, workspace)
		return err
	})
	return snap, err
}

// fleetCache keeps the fleets of the workspaces that ask, each until it changes.
type fleetCache struct {
	read        func(ctx context.Context, workspace ids.ID) (fleet.Snapshot, error)
	unsubscribe func()

	mu   sync.Mutex
	kept map[ids.ID]*keptFleet
}

// keptFleet is a fleet that was read, or is being read while at is zero.
type keptFleet struct {
	snap fleet.Snapshot
	at   time.Time
}

func newFleetCache(read func(context.Context, ids.ID) (fleet.Snapshot, error), wake Subscriber) *fleetCache {
	c := &fleetCache{read: read, kept: map[ids.ID]*keptFleet{}}
	c.unsubscribe = wake.Subscribe("fleet:", c.changed)
	return c
}

// changed takes a topic, or the bare prefix where some may have been missed.
func (c *fleetCache) changed(topic string) {
	_, text, _ := strings.Cut(topic, ":")
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := ids.Parse(text); ok {
		delete(c.kept, id)
	} else {
		clear(c.kept)
	}
}

func (c *fleetCache) get(ctx context.Context, workspace ids.ID) (fleet.Snapshot, error) {
	c.mu.Lock()
	if k := c.kept[workspace]; k != nil && !k.at.IsZero() && time.Since(k.at) < maxFleetAge {
		defer c.mu.Unlock()
		return k.snapNow(), nil
	}
	// Until its place in the map is taken away, nothing has changed since before the read.
	mine := &keptFleet{}
	if len(c.kept) >= maxFleets {
		clear(c.kept)
	}
	c.kept[workspace] = mine
	c.mu.Unlock()

	snap, err := c.read(ctx, workspace)

	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.kept[workspace] != mine:
	case err != nil:
		delete(c.kept, workspace)
	default:
		mine.snap, mine.at = snap, time.Now()
	}
	return snap, err
}

// snapNow returns the fleet with the time that has passed since it was read.
func (k *keptFleet) snapNow() fleet.Snapshot {
	snap := k.snap
	if !snap.Now.IsZero() {
		snap.Now = snap.Now.Add(time.Since(k.at))
	}
	return snap
}
