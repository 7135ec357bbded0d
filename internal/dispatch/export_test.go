package dispatch

import "fleetboard/internal/ids"

// Waiting is how many claims of a workspace wait in this process.
func (s *Service) Waiting(workspace ids.ID) int {
	s.waiters.mu.Lock()
	defer s.waiters.mu.Unlock()
	return s.waiters.of(workspace).queue.Len()
}
