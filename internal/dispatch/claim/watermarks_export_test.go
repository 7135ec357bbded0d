package claim

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// LookFrom lets claims look for the jobs of a lane from this one on, for an hour.
func (s *Service) LookFrom(workspace ids.ID, j jobs.Job) {
	s.watermarks.byLane[laneName{workspace, j.LaneID}] = laneWatermark{readyKey{j.Priority, *j.ReadyAt, string(j.ID[:]), j.ID}, time.Now().Add(time.Hour)}
}

// Floors returns how many lanes of a workspace have one.
func (s *Service) Floors(workspace ids.ID, lanes ...int64) int {
	return len(s.watermarks.of(workspace, lanes))
}
