package lease

import (
	"sync"

	"fleetboard/internal/ids"
)

// together has work for a workspace done once for all who ask while it is being done: one
// of them does it again afterwards, so that each is followed by work that began later.
type together struct {
	mu      sync.Mutex
	running map[ids.ID]bool // true where it is to be done again
}

// do does the work, or leaves it to the caller who does it at the moment.
func (t *together) do(workspace ids.ID, work func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, runs := t.running[workspace]; runs {
		t.running[workspace] = true
		return
	}
	if t.running == nil {
		t.running = map[ids.ID]bool{}
	}
	defer delete(t.running, workspace)
	for again := true; again; again = t.running[workspace] {
		t.running[workspace] = false
		t.unlocked(work)
	}
}

// unlocked does the work while others may ask for more.
func (t *together) unlocked(work func()) {
	t.mu.Unlock()
	defer t.mu.Lock()
	work()
}
