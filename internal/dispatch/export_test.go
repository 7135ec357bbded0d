package dispatch

import (
	"time"

	"fleetboard/internal/ids"
)

// Waiting is how many claims of a workspace wait in this process.
func (s *Service) Waiting(workspace ids.ID) int {
	s.waiters.mu.Lock()
	defer s.waiters.mu.Unlock()
	n := 0
	for _, g := range s.waiters.of(workspace).groups {
		n += g.queue.Len()
	}
	for _, g := range s.waiters.of(workspace).full {
		n += g.queue.Len()
	}
	return n
}

// WatchEvery is how often the service looks for lost wake-ups.
func (s *Service) WatchEvery(d time.Duration) {
	s.waiters.every, s.waiters.watch = d, s.pollLanes
}
