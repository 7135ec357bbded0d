package dispatch

import (
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

// CountingSeats is what the next claim of these agents asks of their seats.
func (s *Service) CountingSeats(workspace ids.ID, agents ...ids.ID) dbsqlc.AgentsForClaimParams {
	return s.leaseWatermarks.counting(workspace, agents)
}
