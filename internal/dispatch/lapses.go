package dispatch

import (
	"context"
	"sync"
	"time"

	"fleetboard/internal/ids"
)

const (
	// lapsesEvery is how far apart the looks for lapsed leases are that claims make.
	lapsesEvery = time.Second
	// lapsesRest is how many times as long as a look took nobody looks again: where
	// ended leases cannot be removed, for somebody holds a snapshot open, it has to
	// pass over all of them.
	lapsesRest = 20
)

// lapses tells claims where leases have to be taken back, so that work comes back
// also where no reaper runs. One look is for all workspaces.
type lapses struct {
	now  func() time.Time
	look func(ctx context.Context) ([]ids.ID, error)

	mu    sync.Mutex
	next  time.Time       // when to look again
	found map[ids.ID]bool // workspaces that no claim was told of yet
}

func newLapses(look func(ctx context.Context) ([]ids.ID, error)) *lapses {
	return &lapses{now: time.Now, look: look, found: map[ids.ID]bool{}}
}

// in reports whether leases of a workspace have lapsed, once after each look.
func (l *lapses) in(ctx context.Context, workspace ids.ID) (bool, error) {
	if !l.due() {
		return l.take(workspace), nil
	}
	began := l.now()
	list, err := l.look(ctx)
	l.mu.Lock()
	l.next = l.now().Add(max(lapsesEvery, lapsesRest*l.now().Sub(began)))
	for _, one := range list {
		l.found[one] = true
	}
	l.mu.Unlock()
	return l.take(workspace), err
}

// due reports whether it is time to look; whoever is told so does.
func (l *lapses) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Before(l.next) {
		return false
	}
	l.next = l.now().Add(lapsesEvery)
	return true
}

func (l *lapses) take(workspace ids.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lapsed := l.found[workspace]
	delete(l.found, workspace)
	return lapsed
}
