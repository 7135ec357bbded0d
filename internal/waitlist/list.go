package waitlist

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// FanOut is how many waiters a successful claim wakes in turn: where one job
// was ready there may be more, and a crowd of jobs is met by a crowd that grows
// with its success instead of one that comes all at once for a single job.
const FanOut = 2

// List are the claims of this process that wait for a job, and the versions
// of what they wait for. A version rises whenever a lane gets a claimable job.
type List struct {
	// instance distinguishes this process's versions from another's.
	instance string
	// Watch looks for jobs whose wake-up was lost, every so often; nil leaves that
	// to a poll of each claim.
	Watch func(workspace ids.ID)
	Every time.Duration
	// Servers are those among which the limits of waiting calls are divided; nil is one.
	Servers quota.Servers
	// Poll is how long a claim for a seat trusts the wake-ups, spread by half either way.
	Poll time.Duration

	mu      sync.Mutex
	counter uint64
	// all is the version of everything, raised when wake-ups may have been missed.
	all        uint64
	workspaces map[ids.ID]*workspaceWaiters
	closed     chan struct{}
	hints      map[ids.ID]Hint // by agent, after its last claim
	waits      *quota.Seats
	// seats is the version of each factory's last freed seat, and offers that of the last job that
	// was offered to it.
	seats, offers map[ids.ID]uint64
}

// Hint is what is known of an agent before it is read: its factory, the lanes that
// it serves (nil where they are not known), and whether a job has just become ready in
// one of them.
type Hint struct {
	Factory ids.ID
	Lanes   []int64
	Likely  bool
}

// New returns an empty list.
func New() *List {
	return &List{instance: rand.Text()[:8], Every: WatchEvery, Poll: safetyPoll, workspaces: map[ids.ID]*workspaceWaiters{},
		closed: make(chan struct{}), hints: map[ids.ID]Hint{}, waits: quota.NewSeats(), seats: map[ids.ID]uint64{},
		offers: map[ids.ID]uint64{}}
}

// Close ends every wait.
func (w *List) Close() {
	close(w.closed)
}

func (w *List) of(workspace ids.ID) *workspaceWaiters {
	ww := w.workspaces[workspace]
	if ww == nil {
		ww = newWorkspaceWaiters()
		w.workspaces[workspace] = ww
	}
	return ww
}

// Version is that of a set of lanes: it changes when one of them gets a
// claimable job. nil stands for all lanes of the workspace.
func (w *List) Version(workspace ids.ID, lanes []int64) uint64 {
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

// Latest returns a version that no later change has.
func (w *List) Latest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counter
}

// AgentVersion returns the version of an agent's lanes as Text writes it, as this process
// knows it. It changes at least whenever one of them has got a claimable job, and when its
// factory is offered one.
func (w *List) AgentVersion(who tenancy.Principal) string {
	hint := w.Hint(who.Agent)
	version := w.Version(who.Workspace, hint.Lanes)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Text(max(version, w.offers[hint.Factory]))
}

// Text returns a version as agents see it.
func (w *List) Text(version uint64) string {
	return w.instance + "-" + strconv.FormatUint(version, 10)
}

// add puts a claim into the queue. The caller compares versions afterwards
// and only then waits. lanes rise.
func (w *List) add(workspace, factory ids.ID, lanes []int64, full bool) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	one := &waiter{signal: make(chan Reason, 1), owner: ww}
	if full {
		ww.addFull(one, factory)
	} else {
		ww.add(one, lanes)
		ww.byFactory[factory] = append(ww.byFactory[factory], one)
	}
	one.factory = factory
	if w.Watch != nil && !full && !ww.watched {
		ww.watched = true
		go w.Watch(workspace)
	}
	return one
}

// remove takes a claim out of the queue. A wake-up that it did not use goes to
// the next in line.
func (w *List) remove(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.owner.remove(one)
	select {
	case why := <-one.signal:
		if one.group.lanes != nil {
			one.owner.wake(one.group.lanes, 1, why)
		}
	default:
	}
}

// NotifyNext wakes the next in line for these lanes.
func (w *List) NotifyNext(workspace ids.ID, lanes []int64, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(workspace).wake(lanes, n, Recheck)
}

// LaneChanged takes the wake-up for a claimable job in a lane.
func (w *List) LaneChanged(workspace ids.ID, id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	w.counter++
	ww.lanes[id], ww.newest = w.counter, w.counter
	ww.wake([]int64{id}, 1, JobReady)
}

// WakeWorkspace is for a lane that is not known yet: whom it concerns is known
// only after the lanes have been read again.
func (w *List) WakeWorkspace(workspace ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ww := w.of(workspace)
	w.counter++
	ww.version, ww.newest = w.counter, w.counter
	ww.notifyAll()
}

// WakeAll is for wake-ups that may have been missed.
func (w *List) WakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counter++
	w.all = w.counter
	for _, ww := range w.workspaces {
		ww.notifyAll()
	}
}

// SeatFreed wakes the claims of one factory that found all seats taken.
func (w *List) SeatFreed(topic string) {
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
		full.notifyAll()
	}
}

// WakeFactory wakes the claims of a factory that was offered a job, as far as they wait for one.
func (w *List) WakeFactory(workspace, factory ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counter++
	w.offers[factory] = w.counter
	for _, one := range w.of(workspace).byFactory[factory] {
		if one.at != nil {
			one.wake(JobReady)
		}
	}
}

// offeredSince reports whether the factory was offered a job after a version.
func (w *List) offeredSince(factory ids.ID, version uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.offers[factory] > version
}

// seatSince reports whether a seat of the factory came free after a version.
func (w *List) seatSince(factory ids.ID, version uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seats[factory] > version
}

// StoreHint keeps an agent's hint for its next claim, and for questions that are
// answered without the database.
func (w *List) StoreHint(agent ids.ID, h Hint) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hints[agent] = h
}

// Hint returns what StoreHint has kept, the zero hint where that is nothing.
func (w *List) Hint(agent ids.ID) Hint {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hints[agent]
}

// Forget drops what StoreHint has kept: the agent has described itself anew.
func (w *List) Forget(agent ids.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.hints, agent)
}
