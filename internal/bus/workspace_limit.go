package bus

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// How many calls of one workspace run at once: that write long lists of messages, and that read
// inboxes. Readers that wait for messages do not count.
const (
	maxLongLists = 2
	maxReads     = 6
	// limitWait is how long a call waits for others of its workspace: somewhat longer than a
	// thousand readers that come at once take on two cores.
	limitWait = 15 * time.Second
	// retryLimited is after how many seconds a refused caller may try again.
	retryLimited = 2
)

// workspaceLimit bounds how many calls of one kind each workspace has under way, so that one
// workspace does not delay the others.
type workspaceLimit struct {
	most int64
	wait time.Duration

	mu    sync.Mutex
	slots map[ids.ID]*slots // of workspaces that have calls
}

type slots struct {
	*semaphore.Weighted

	users int // calls that have a slot or wait for one
}

func newWorkspaceLimit(most int64) *workspaceLimit {
	return &workspaceLimit{most: most, wait: limitWait, slots: map[ids.ID]*slots{}}
}

// enter waits until a call of the workspace may begin; leave ends it. Fault: TooMany.
func (l *workspaceLimit) enter(ctx context.Context, workspace ids.ID) (leave func(), err error) {
	l.mu.Lock()
	here := l.slots[workspace]
	if here == nil {
		here = &slots{Weighted: semaphore.NewWeighted(l.most)}
		l.slots[workspace] = here
	}
	here.users++
	l.mu.Unlock()
	if err := here.acquire(ctx, l.wait); err != nil {
		l.release(workspace, here)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.TooMany, "The messages of this workspace have their whole share of the server. Try again in a moment.").
			With("retry_after", retryLimited)
	}
	return func() {
		here.Release(1)
		l.release(workspace, here)
	}, nil
}

// acquire takes a slot: a free one at once, however late the caller comes to run, else the next one
// within wait.
func (s *slots) acquire(ctx context.Context, wait time.Duration) error {
	if ctx.Err() == nil && s.TryAcquire(1) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.Acquire(ctx, 1)
}

// release forgets a workspace that has no call any more.
func (l *workspaceLimit) release(workspace ids.ID, here *slots) {
	l.mu.Lock()
	defer l.mu.Unlock()
	here.users--
	if here.users == 0 {
		delete(l.slots, workspace)
	}
}
