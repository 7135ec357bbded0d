package api

import (
	"sync"

	"fleetboard/internal/ids"
)

// openStreams are those of this process.
var openStreams streamLimit

// streamLimit counts the open streams of each workspace. The zero value is
// ready.
type streamLimit struct {
	mu   sync.Mutex
	open map[ids.ID]int
}

// enter takes a place; ok is false where none is left. leave gives it back.
func (l *streamLimit) enter(workspace ids.ID) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[workspace] >= streaming.perWorkspace {
		return nil, false
	}
	if l.open == nil {
		l.open = map[ids.ID]int{}
	}
	l.open[workspace]++
	return sync.OnceFunc(func() { l.leave(workspace) }), true
}

func (l *streamLimit) leave(workspace ids.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[workspace]--; l.open[workspace] == 0 {
		delete(l.open, workspace)
	}
}
