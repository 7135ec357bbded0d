package dispatch

import (
	"container/list"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"

	"fleetboard/internal/ids"
)

// fanOut is how many waiters a successful claim wakes in turn: where one job
// was ready there may be more, and a crowd of jobs is met by a crowd that grows
// with its success instead of one that comes all at once for a single job.
const fanOut = 2

// waiters are the claims of this process that wait for a job, and the versions
// of what they wait for. A version rises whenever a lane gets a claimable job.
type waiters struct {
	unsubscribe      func()
	unsubscribeSeats func()
	// instance tells this process's versions from another's.
	instance string

	mu      sync.Mutex
	counter uint64
	// all is the version of everything, raised when wake-ups may have been missed.
	all        uint64
	workspaces map[ids.ID]*workspaceWaiters
	closed     chan struct{}
	lanesOf    map[ids.ID][]int64 // by agent, as last seen by a claim
	// seats is the version of each factory's last freed seat.
	seats map[ids.ID]uint64
}

type workspaceWaiters struct {
	version uint64 // raised by lanes that were not known
	newest  uint64 // the highest of all lanes
	lanes   map[int64]uint64
	queue   *list.List // of *waiter, the longest waiting first
}

// waiter is one claim that waits.
type waiter struct {
	lanes   map[int64]bool
	factory ids.ID
	// full is set where the claim waits for a seat, not for a job.
	full   bool
	signal chan struct{}
	at     *list.Element
	owner  *workspaceWaiters
}

func newWaiters() *waiters {
	return &waiters{instance: rand.Text()[:8], workspaces: map[ids.ID]*workspaceWaiters{},
		closed: make(chan struct{}), lanesOf: map[ids.ID][]int64{}, seats: map[ids.ID]uint64{}}
}

func (w *waiters) close() {
	w.unsubscribe()
	w.unsubscribeSeats()
	close(w.closed)
}

func (w *waiters) of(workspace ids.ID) *workspaceWaiters {
	ww := w.workspaces[workspace]
	if ww == nil {
		ww = &workspaceWaiters{lanes: map[int64]uint64{}, queue: list.New()}
		w.workspaces[workspace] = ww
	}
	return ww
}

// version is that of a set of lanes: it changes when one of them gets a
// claimable job. nil stands for all lanes of the workspace.
func (w *waiters) version(workspace ids.ID, lanes []int64) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	v := max(w.all, ww.version)
	if lanes == nil {
		return max(v, ww.newest)
	}
	for _, id := range lanes {
		v = max(v, ww.lanes[id])
	}
	return v
}

// latest is a version that no later change has.
func (w *waiters) latest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counter
}

// text is a version as agents see it.
func (w *waiters) text(version uint64) string {
	return w.instance + "-" + strconv.FormatUint(version, 10)
}

// enter puts a claim into the queue. The caller compares versions afterwards
// and only then waits.
func (w *waiters) enter(workspace, factory ids.ID, lanes []int64, full bool) *waiter {
	set := make(map[int64]bool, len(lanes))
	for _, id := range lanes {
		set[id] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	one := &waiter{lanes: set, factory: factory, full: full, signal: make(chan struct{}, 1), owner: ww}
	one.at = ww.queue.PushBack(one)
	return one
}

// leave takes a claim out of the queue. A wake-up that it did not use goes to
// the next in line.
func (w *waiters) leave(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.owner.queue.Remove(one.at)
	select {
	case <-one.signal:
		one.owner.wake(one.lanes, 1)
	default:
	}
}

// passOn wakes the next in line for these lanes.
func (w *waiters) passOn(workspace ids.ID, lanes []int64, n int) {
	set := make(map[int64]bool, len(lanes))
	for _, id := range lanes {
		set[id] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(workspace).wake(set, n)
}

// wake signals up to n waiters that share a lane with the set and have not been
// signalled yet.
func (ww *workspaceWaiters) wake(lanes map[int64]bool, n int) {
	for e := ww.queue.Front(); e != nil && n > 0; e = e.Next() {
		one := e.Value.(*waiter) //nolint:forcetypeassert // nothing else is put in
		if one.full || !overlap(one.lanes, lanes) {
			continue
		}
		select {
		case one.signal <- struct{}{}:
			n--
		default:
		}
	}
}

func overlap(a, b map[int64]bool) bool {
	for id := range b {
		if a[id] {
			return true
		}
	}
	return false
}

func (w *waiters) laneChanged(workspace ids.ID, id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	w.counter++
	ww.lanes[id], ww.newest = w.counter, w.counter
	ww.wake(map[int64]bool{id: true}, 1)
}

// wakeWorkspace is for a lane that is not known yet: whom it concerns is known
// only after the lanes have been read again.
func (w *waiters) wakeWorkspace(workspace ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	w.counter++
	ww.version, ww.newest = w.counter, w.counter
	ww.wakeEvery(func(*waiter) bool { return true })
}

func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counter++
	w.all = w.counter
	for _, ww := range w.workspaces {
		ww.wakeEvery(func(*waiter) bool { return true })
	}
}

// seatFreed wakes the claims of one factory that found all seats taken.
func (w *waiters) seatFreed(topic string) {
	parts := strings.Split(topic, ":")
	if len(parts) != 3 {
		return // a gap in the wake-ups: the lanes' subscription wakes everybody
	}
	workspace, okWorkspace := ids.Parse(parts[1])
	factory, okFactory := ids.Parse(parts[2])
	if !okWorkspace || !okFactory {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counter++
	w.seats[factory] = w.counter
	w.of(workspace).wakeEvery(func(one *waiter) bool { return one.full && one.factory == factory })
}

// seatSince reports whether a seat of the factory came free after a version.
func (w *waiters) seatSince(factory ids.ID, version uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seats[factory] > version
}

func (ww *workspaceWaiters) wakeEvery(concerned func(*waiter) bool) {
	for e := ww.queue.Front(); e != nil; e = e.Next() {
		one := e.Value.(*waiter) //nolint:forcetypeassert // nothing else is put in
		if !concerned(one) {
			continue
		}
		select {
		case one.signal <- struct{}{}:
		default:
		}
	}
}

// remember keeps an agent's lanes, for questions that are answered without the
// database.
func (w *waiters) remember(agent ids.ID, lanes []int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lanesOf[agent] = lanes
}

// recall gives an agent's lanes, nil (all lanes) where they are not known here.
func (w *waiters) recall(agent ids.ID) []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lanesOf[agent]
}

// forget drops what remember kept: the agent has described itself anew.
func (w *waiters) forget(agent ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.lanesOf, agent)
}
