package recovery

import (
	"context"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// expiryInterval is how far apart the looks for lapsed leases are that claims make.
	expiryInterval = time.Second
	// expiryRest is how many times as long as a look took nobody looks again: where
	// ended leases cannot be removed, for somebody holds a snapshot open, it has to
	// pass over all of them.
	expiryRest = 20
)

// expiredLeases shows claims where leases have to be taken back, so that work comes back
// also where no reaper runs. One look is for all workspaces.
type expiredLeases struct {
	now  func() time.Time
	look func(ctx context.Context) ([]ids.ID, error)

	mu      sync.Mutex
	looking bool
	next    time.Time       // when to look again
	found   map[ids.ID]bool // workspaces not yet announced to a claim
}

func newExpiredLeases(look func(ctx context.Context) ([]ids.ID, error)) *expiredLeases {
	return &expiredLeases{now: time.Now, look: look, found: map[ids.ID]bool{}}
}

// in reports whether leases of a workspace have lapsed, once after each look.
func (l *expiredLeases) in(ctx context.Context, workspace ids.ID) (lapsed bool, err error) {
	if l.due() {
		err = l.lookAgain(ctx)
	}
	return l.take(workspace), err
}

func (l *expiredLeases) lookAgain(ctx context.Context) (err error) {
	var list []ids.ID
	began := l.now()
	defer func() { l.looked(list, l.now().Sub(began)) }() // also on a panic
	list, err = l.look(ctx)
	return err
}

// due reports whether it is time to look; whoever gets true does, alone.
func (l *expiredLeases) due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looking || l.now().Before(l.next) {
		return false
	}
	l.looking = true
	return true
}

// looked notes what a look found, and how long it took.
func (l *expiredLeases) looked(list []ids.ID, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looking, l.next = false, l.now().Add(max(expiryInterval, expiryRest*took))
	for _, one := range list {
		l.found[one] = true
	}
}

func (l *expiredLeases) take(workspace ids.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	lapsed := l.found[workspace]
	delete(l.found, workspace)
	return lapsed
}
