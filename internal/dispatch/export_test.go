package dispatch

import (
	"time"

	"fleetboard/internal/ids"
)

// Waiting is how many claims of a workspace wait in this process.
func (s *Service) Waiting(workspace ids.ID) int { return s.waiters.Len(workspace) }

// WatchEvery is how often the service looks for lost wake-ups.
func (s *Service) WatchEvery(d time.Duration) {
	s.waiters.Every, s.waiters.Watch = d, s.pollLanes
}
