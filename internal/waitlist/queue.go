package waitlist

import (
	"container/list"
	"encoding/binary"
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// workspaceWaiters are the claims that wait in one workspace. Those that serve
// the same lanes stand in one queue, so that a lane finds its next in line
// without a look at the others, however many wait.
type workspaceWaiters struct {
	version uint64 // raised by lanes that were not known
	newest  uint64 // the highest of all lanes
	lanes   map[int64]uint64

	entered uint64            // how many came so far
	groups  map[string]*group // by their lanes
	byLane  map[int64][]*group
	full    map[ids.ID]*group // claims that wait for a seat, by factory
	// byFactory are the claims that wait for a job.
	byFactory map[ids.ID][]*waiter

	watched bool // a watch runs
}

// group is a queue of claims that wait for the same.
type group struct {
	key   string
	lanes []int64    // nil where they wait for a seat
	seat  ids.ID     // the factory then
	all   int        // how many have entered and not left
	queue *list.List // of *waiter that were not woken, the longest waiting first
}

// waiter is one claim that waits.
type waiter struct {
	signal  chan Reason
	entered uint64 // its place among all of the workspace
	at      *list.Element
	group   *group
	owner   *workspaceWaiters
	factory ids.ID
}

func newWorkspaceWaiters() *workspaceWaiters {
	return &workspaceWaiters{lanes: map[int64]uint64{}, groups: map[string]*group{}, byLane: map[int64][]*group{},
		full: map[ids.ID]*group{}, byFactory: map[ids.ID][]*waiter{}}
}

// add lets a claim wait for a job of its lanes.
func (ww *workspaceWaiters) add(one *waiter, lanes []int64) {
	key := make([]byte, 0, 8*len(lanes))
	for _, id := range lanes {
		key = binary.BigEndian.AppendUint64(key, uint64(id)) //nolint:gosec // only told apart
	}
	g := ww.groups[string(key)]
	if g == nil {
		g = &group{key: string(key), lanes: append([]int64{}, lanes...), queue: list.New()}
		ww.groups[g.key] = g
		for _, id := range lanes {
			ww.byLane[id] = append(ww.byLane[id], g)
		}
	}
	ww.append(one, g)
}

// addFull lets a claim wait for a seat of its factory.
func (ww *workspaceWaiters) addFull(one *waiter, factory ids.ID) {
	g := ww.full[factory]
	if g == nil {
		g = &group{seat: factory, queue: list.New()}
		ww.full[factory] = g
	}
	ww.append(one, g)
}

func (ww *workspaceWaiters) append(one *waiter, g *group) {
	ww.entered++
	g.all++
	one.entered, one.group, one.at = ww.entered, g, g.queue.PushBack(one)
}

func (ww *workspaceWaiters) remove(one *waiter) {
	g := one.group
	if one.at != nil {
		g.queue.Remove(one.at)
	}
	if g.lanes != nil {
		rest := without(ww.byFactory[one.factory], one)
		if ww.byFactory[one.factory] = rest; len(rest) == 0 {
			delete(ww.byFactory, one.factory)
		}
	}
	if g.all--; g.all > 0 {
		return
	}
	if g.lanes == nil {
		delete(ww.full, g.seat)
		return
	}
	delete(ww.groups, g.key)
	for _, id := range g.lanes {
		rest := without(ww.byLane[id], g)
		if ww.byLane[id] = rest; len(rest) == 0 {
			delete(ww.byLane, id)
		}
	}
}

func without[T comparable](list []T, gone T) []T {
	if at := slices.Index(list, gone); at >= 0 {
		return slices.Delete(list, at, at+1)
	}
	return list
}

// wake signals up to n waiters that serve one of the lanes and have not been
// signalled yet, the longest waiting first.
func (ww *workspaceWaiters) wake(lanes []int64, n int, why Reason) {
	for ; n > 0; n-- {
		var next *waiter
		for _, id := range lanes {
			for _, g := range ww.byLane[id] {
				if one := g.front(); one != nil && (next == nil || one.entered < next.entered) {
					next = one
				}
			}
		}
		if next == nil {
			return
		}
		next.wake(why)
	}
}

// notifyAll signals all that wait, for a job or for a seat.
func (ww *workspaceWaiters) notifyAll() {
	for _, g := range ww.groups {
		g.notifyAll()
	}
	for _, g := range ww.full {
		g.notifyAll()
	}
}

func (g *group) notifyAll() {
	for one := g.front(); one != nil; one = g.front() {
		one.wake(Recheck)
	}
}

// front returns the longest waiting that was not woken, nil where all were.
func (g *group) front() *waiter {
	e := g.queue.Front()
	if e == nil {
		return nil
	}
	return e.Value.(*waiter) // nothing else is put in
}

// wake signals a waiter that stands in its queue, and takes it out.
func (one *waiter) wake(why Reason) {
	one.group.queue.Remove(one.at)
	one.at = nil
	one.signal <- why // the channel has space: it is signalled once
}
