package dispatch

import (
	"time"

	"fleetboard/internal/dispatch/waitlist"
	"fleetboard/internal/ids"
)

// Waiting is how many claims of a workspace wait in this process.
func (s *Service) Waiting(workspace ids.ID) int { return s.waiters.Len(workspace) }

// TrustWakeUps leaves the safety poll out, which would make a lost wake-up good.
func (s *Service) TrustWakeUps() { s.waiters.Poll = 3 * waitlist.MaxWait }

// WatchEvery is how often the service looks for lost wake-ups.
func (s *Service) WatchEvery(d time.Duration) {
	s.waiters.Every, s.waiters.Watch = d, s.pollLanes
}
