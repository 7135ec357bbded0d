package claim

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// WatchEvery is how often the service looks for lost wake-ups.
func (s *Service) WatchEvery(d time.Duration) {
	s.waiters.Every, s.waiters.Watch = d, s.pollLanes
}

// TrustWakeUps leaves the safety poll out, which would make a lost wake-up good.
func (s *Service) TrustWakeUps() { s.waiters.Poll = 3 * waitlist.MaxWait }
