package claim

import (
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// alarmPause is the least time between two wake-ups of a workspace for lanes that nobody knows yet.
const alarmPause = 250 * time.Millisecond

// laneAlarm lets a workspace know of new lanes: at once, and of those that follow within alarmPause
// together. However many lanes are made, the claims that wait look a few times a second.
type laneAlarm struct {
	wake func(workspace ids.ID)

	mu     sync.Mutex
	rung   map[ids.ID]*time.Timer // of workspaces that were woken less than alarmPause ago
	again  map[ids.ID]bool        // of these, those with lanes that came since
	closed bool
}

func newLaneAlarm(wake func(ids.ID)) *laneAlarm {
	return &laneAlarm{wake: wake, rung: map[ids.ID]*time.Timer{}, again: map[ids.ID]bool{}}
}

// ring takes a new lane of a workspace.
func (a *laneAlarm) ring(workspace ids.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	if a.rung[workspace] != nil {
		a.again[workspace] = true
		return
	}
	a.rung[workspace] = time.AfterFunc(alarmPause, func() { a.rest(workspace) })
	a.wake(workspace)
}

// rest ends the pause of a workspace.
func (a *laneAlarm) rest(workspace ids.ID) {
	a.mu.Lock()
	delete(a.rung, workspace)
	again := a.again[workspace]
	delete(a.again, workspace)
	a.mu.Unlock()
	if again {
		a.ring(workspace)
	}
}

func (a *laneAlarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, timer := range a.rung {
		timer.Stop()
	}
}
