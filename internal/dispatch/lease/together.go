package lease

import (
	"sync"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// together has work for a workspace done once for all who ask while it is being done: the
// first of them does it again after that, so that each is followed by work that began
// later, and nobody does it for ever.
type together struct {
	mu    sync.Mutex
	turns map[ids.ID]*turn
}

// turn is work that is being done.
type turn struct {
	done  chan struct{} // closed when it is
	taken bool          // somebody does it again afterwards
}

// do does the work, after the turn that is on, or leaves it to the caller who is next.
func (t *together) do(workspace ids.ID, work func()) {
	t.mu.Lock()
	if now, on := t.turns[workspace]; on {
		if now.taken {
			t.mu.Unlock()
			return
		}
		now.taken = true
		t.mu.Unlock()
		<-now.done
		t.mu.Lock()
	}
	if t.turns == nil {
		t.turns = map[ids.ID]*turn{}
	}
	own := &turn{done: make(chan struct{})}
	t.turns[workspace] = own
	t.mu.Unlock()
	defer t.end(workspace, own)
	work()
}

func (t *together) end(workspace ids.ID, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !own.taken {
		delete(t.turns, workspace)
	}
	close(own.done)
}
