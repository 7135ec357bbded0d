package pools

import (
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// absentFor is how long a workspace is taken to have no pool without looking again: a
	// pool may be made in another process.
	absentFor = 5 * time.Second
	// maxAbsent bounds for how many workspaces that is known.
	maxAbsent = 1024
)

// absent knows which workspaces had no pool a moment ago.
type absent struct {
	mu    sync.Mutex
	until map[ids.ID]time.Time
}

func newAbsent() *absent { return &absent{until: map[ids.ID]time.Time{}} }

func (a *absent) known(workspace ids.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Now().Before(a.until[workspace])
}

func (a *absent) note(workspace ids.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.until) >= maxAbsent {
		clear(a.until)
	}
	a.until[workspace] = time.Now().Add(absentFor)
}

func (a *absent) forget(workspace ids.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.until, workspace)
}
