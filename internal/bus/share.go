package bus

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// A workspace's share of the database: how many lists of messages are written for it at
// once, and how many reads of its inboxes run. Those that wait for messages count in
// neither.
const (
	maxLongLists = 2
	maxReads     = 6
	// shareWait is how long a call waits for its workspace's share: as long as a thousand
	// readers that come at once take on two cores, and some.
	shareWait = 15 * time.Second
	// retryShare is how many seconds a caller waits that found none.
	retryShare = 2
)

// share bounds how many calls of one kind each workspace has under way, so that one does
// not keep the others waiting.
type share struct {
	most int64
	wait time.Duration

	mu    sync.Mutex
	slots map[ids.ID]*slots // of workspaces that have calls
}

type slots struct {
	*semaphore.Weighted

	users int // that have a slot or wait for one
}

func newShare(most int64) *share {
	return &share{most: most, wait: shareWait, slots: map[ids.ID]*slots{}}
}

// enter waits until a call of the workspace may begin; leave ends it. Fault: TooMany.
func (s *share) enter(ctx context.Context, workspace ids.ID) (leave func(), err error) {
	s.mu.Lock()
	of := s.slots[workspace]
	if of == nil {
		of = &slots{Weighted: semaphore.NewWeighted(s.most)}
		s.slots[workspace] = of
	}
	of.users++
	s.mu.Unlock()
	waiting, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	if err := of.Acquire(waiting, 1); err != nil {
		s.left(workspace, of)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.TooMany, "The messages of this workspace have their whole share of the server. Try again in a moment.").
			With("retry_after", retryShare)
	}
	return func() {
		of.Release(1)
		s.left(workspace, of)
	}, nil
}

// left forgets a workspace that has no call any more.
func (s *share) left(workspace ids.ID, of *slots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(s.slots, workspace)
	}
}
