package dispatch

import (
	"sync"
	"time"

	"fleetboard/internal/ids"
)

// gate lets something happen at most once in a while for each workspace.
type gate struct {
	every time.Duration

	mu   sync.Mutex
	last map[ids.ID]time.Time
}

func newGate(every time.Duration) *gate {
	return &gate{every: every, last: map[ids.ID]time.Time{}}
}

// pass reports whether it is time again.
func (g *gate) pass(workspace ids.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.last[workspace]) < g.every {
		return false
	}
	g.last[workspace] = time.Now()
	return true
}
