package claim

import (
	"context"
	"maps"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// watchTimeout bounds one look at the lanes that claims wait for.
const watchTimeout = 5 * time.Second

// laneSnapshot is a job that stood first in its lane while claims waited for it.
type laneSnapshot struct {
	job   ids.ID
	looks int // in a row
}

// laneSnapshots are those of the last look, by lane.
type laneSnapshots map[int64]laneSnapshot

// lost notes what comes first in the lanes now, and returns the lanes to announce. A
// job that is there at two looks in a row was not announced; at the fourth, eighth,
// … it is announced again, for it may be one that is not given out now: what is held
// back is not looked for again and again.
func (seen laneSnapshots) lost(heads map[int64]ids.ID) []int64 {
	maps.DeleteFunc(seen, func(lane int64, _ laneSnapshot) bool { _, ready := heads[lane]; return !ready })
	var lanes []int64
	for lane, job := range heads {
		one := laneSnapshot{job: job, looks: 1}
		if seen[lane].job == job {
			one.looks += seen[lane].looks
		}
		if seen[lane] = one; one.looks > 1 && one.looks&(one.looks-1) == 0 {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// pollLanes looks for jobs whose wake-up was lost, for all waiting claims of a
// workspace at once, until none waits.
func (s *Service) pollLanes(workspace ids.ID) {
	seen := laneSnapshots{}
	for s.waiters.Rest() {
		lanes := s.waiters.WaitingLanes(workspace)
		if lanes == nil {
			return
		}
		heads, newest, err := s.pollOnce(workspace, lanes)
		if err != nil {
			continue // the database's absence is reported elsewhere
		}
		lost := seen.lost(heads)
		if !s.lanes.knows(workspace, newest) {
			lost = append(lost, newest)
		}
		for _, lane := range lost {
			s.wakeLane(jobs.LaneTopic(workspace, lane))
		}
	}
}

// pollOnce gives what comes first in those of the lanes that have a claimable
// job, and the workspace's newest lane.
func (s *Service) pollOnce(workspace ids.ID, lanes []int64) (heads map[int64]ids.ID, newest int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		heads, newest, err = readyLanes(ctx, tx, workspace, lanes)
		return err
	})
	return heads, newest, err
}
