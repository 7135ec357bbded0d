package dispatch

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

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
	// watch looks for jobs whose wake-up was lost, every so often; nil leaves that
	// to a poll of each claim.
	watch func(workspace ids.ID)
	every time.Duration

	mu      sync.Mutex
	counter uint64
	// all is the version of everything, raised when wake-ups may have been missed.
	all        uint64
	workspaces map[ids.ID]*workspaceWaiters
	closed     chan struct{}
	outlooks   map[ids.ID]outlook // by agent, after its last look
	claims     map[ids.ID]int     // that wait, by agent and by enrolment token
	// seats is the version of each factory's last freed seat.
	seats map[ids.ID]uint64
}

// outlook is what is known of an agent before it looks: its factory, the lanes that
// it serves (nil where they are not known), and whether it may well get a job: one has
// just become ready, or the agent has ended one since its last look.
type outlook struct {
	factory ids.ID
	lanes   []int64
	good    bool
}

func newWaiters() *waiters {
	return &waiters{instance: rand.Text()[:8], every: watchEvery, workspaces: map[ids.ID]*workspaceWaiters{},
		closed: make(chan struct{}), outlooks: map[ids.ID]outlook{}, claims: map[ids.ID]int{}, seats: map[ids.ID]uint64{}}
}

func (w *waiters) close() {
	w.unsubscribe()
	w.unsubscribeSeats()
	close(w.closed)
}

func (w *waiters) of(workspace ids.ID) *workspaceWaiters {
	ww := w.workspaces[workspace]
	if ww == nil {
		ww = newWorkspaceWaiters()
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
// and only then waits. lanes rise.
func (w *waiters) enter(workspace, factory ids.ID, lanes []int64, full bool) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	one := &waiter{signal: make(chan wakening, 1), owner: ww}
	if full {
		ww.enterFull(one, factory)
	} else {
		ww.enter(one, lanes)
	}
	if w.watch != nil && !full && !ww.watched {
		ww.watched = true
		go w.watch(workspace)
	}
	return one
}

// leave takes a claim out of the queue. A wake-up that it did not use goes to
// the next in line.
func (w *waiters) leave(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.owner.leave(one)
	select {
	case why := <-one.signal:
		if one.group.lanes != nil {
			one.owner.wake(one.group.lanes, 1, why)
		}
	default:
	}
}

// passOn wakes the next in line for these lanes.
func (w *waiters) passOn(workspace ids.ID, lanes []int64, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(workspace).wake(lanes, n, again)
}

func (w *waiters) laneChanged(workspace ids.ID, id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	w.counter++
	ww.lanes[id], ww.newest = w.counter, w.counter
	ww.wake([]int64{id}, 1, ready)
}

// wakeWorkspace is for a lane that is not known yet: whom it concerns is known
// only after the lanes have been read again.
func (w *waiters) wakeWorkspace(workspace ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	w.counter++
	ww.version, ww.newest = w.counter, w.counter
	ww.wakeEvery()
}

func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counter++
	w.all = w.counter
	for _, ww := range w.workspaces {
		ww.wakeEvery()
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
	if full := w.of(workspace).full[factory]; full != nil {
		full.wakeEvery()
	}
}

// seatSince reports whether a seat of the factory came free after a version.
func (w *waiters) seatSince(factory ids.ID, version uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seats[factory] > version
}

// remember keeps an agent's outlook for its next look, and for questions that are
// answered without the database.
func (w *waiters) remember(agent ids.ID, now outlook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outlooks[agent] = now
}

// recall gives an agent's outlook, as this process knows it.
func (w *waiters) recall(agent ids.ID) outlook {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outlooks[agent]
}

// hope notes that an agent has a seat again, for its next look.
func (w *waiters) hope(agent ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o, known := w.outlooks[agent]; known {
		o.good = true
		w.outlooks[agent] = o
	}
}

// forget drops what remember kept: the agent has described itself anew.
func (w *waiters) forget(agent ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.outlooks, agent)
}
