package preempt

import (
	"context"
	"errors"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// StandsSeconds is how long a request stands. A job that has given its seat is asked again at the earliest
// that long after it was claimed again, unless its percentage has risen: what an agent saves at its start
// is where it began.
const StandsSeconds = 120

const (
	// maxReady is how many ready jobs one look takes in, and maxOfLane how many of each lane.
	maxReady, maxOfLane = 100, 10
	// maxVictims is how many running jobs it takes in, and maxStanding how many requests.
	maxVictims, maxStanding = 500, 500
	// maxForgotten is how many ended requests it deletes.
	maxForgotten = 500
	// maxSilence is how rarely an agent may be heard of, in seconds, to be asked at all: it hears of
	// requests in the answers to its calls. A person who claims by hand is heard of once an hour.
	maxSilence = StandsSeconds / 2
)

// Claims knows what claims would give out.
type Claims interface {
	// SeatsTx returns the seats of a workspace as they are, for ready jobs.
	SeatsTx(ctx context.Context, tx db.Tx, workspace ids.ID, ready []ids.ID) (*decision.Seats, error)
}

// Service asks for seats.
type Service struct {
	db      *db.DB
	claims  Claims
	effects *lease.Effects
}

// New returns the requests for seats of the jobs kept in d.
func New(d *db.DB, claims Claims, effects *lease.Effects) *Service {
	return &Service{d, claims, effects}
}

// Preempt asks for seats in every workspace that wants it, and ends requests that are over. It returns
// about how many jobs it decided. One workspace has a bounded part of each cycle.
func (s *Service) Preempt(ctx context.Context) (int, error) {
	var list []workspace
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		list, err = workspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	var failed error
	for _, w := range list {
		n, err := s.preemptIn(ctx, w.WorkspaceID, w.PreemptGap)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// preemptIn is Preempt in one workspace.
func (s *Service) preemptIn(ctx context.Context, workspace ids.ID, gap int) (int, error) {
	var changed []ids.ID
	var after []jobs.Job
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		free, err := tryLockTx(ctx, tx, workspace)
		if err != nil || !free {
			return err
		}
		if changed, err = s.decideTx(ctx, tx, workspace, gap); err != nil {
			return err
		}
		if len(changed) == 0 {
			return forgetTx(ctx, tx, workspace, gap)
		}
		after, err = jobs.LoadManyTx(ctx, tx, workspace, changed)
		return err
	})
	if err != nil || len(changed) == 0 {
		return 0, err
	}
	s.effects.Publish(workspace, nil, after...)
	return len(changed), nil
}

// decideTx ends requests and makes new ones, and returns the jobs about which.
func (s *Service) decideTx(ctx context.Context, tx db.Tx, workspace ids.ID, gap int) ([]ids.ID, error) {
	standing, ready, err := lookTx(ctx, tx, workspace, gap)
	if err != nil {
		return nil, err
	}
	if len(standing) == 0 && len(ready) == 0 {
		return nil, nil
	}
	list := make([]ids.ID, 0, len(standing)+len(ready))
	for _, r := range standing {
		list = append(list, r.JobID)
	}
	ready = slices.DeleteFunc(ready, func(j urgent) bool { return slices.Contains(list, j.JobID) })
	for _, j := range ready {
		list = append(list, j.JobID)
	}
	seats, err := s.claims.SeatsTx(ctx, tx, workspace, list)
	if err != nil {
		return nil, err
	}
	changed, err := endOver(ctx, tx, workspace, standing, gap, seats)
	if err != nil {
		return nil, err
	}
	made, err := askFor(ctx, tx, workspace, findNeedy(ready, seats), gap, seats)
	return append(changed, made...), err
}

// lookTx reads the requests that stand, and the ready jobs for which more could be made.
func lookTx(ctx context.Context, tx db.Tx, workspace ids.ID, gap int) (standing []request, ready []urgent, err error) {
	if standing, err = readStandingTx(ctx, tx, workspace); err != nil || gap == 0 || len(standing) == maxStanding {
		return standing, nil, err
	}
	ready, err = readyTx(ctx, tx, workspace, gap)
	return standing, ready, err
}

// endOver ends the requests that do not stand any more, and returns the jobs of both sides.
func endOver(ctx context.Context, tx db.Tx, workspace ids.ID, standing []request, gap int, s seats) (changed []ids.ID, err error) {
	over := map[ids.ID]state{}
	for _, r := range standing {
		if next := judge(r, gap, s.IsOpen(r.JobID)); next != asked {
			over[r.VictimID] = next
			changed = append(changed, r.VictimID, r.JobID)
		}
	}
	if len(over) == 0 {
		return nil, nil
	}
	return changed, endTx(ctx, tx, workspace, over)
}

// askFor asks for a seat for each of the jobs that has a victim, and returns the jobs of both sides.
func askFor(ctx context.Context, tx db.Tx, workspace ids.ID, needy []urgent, gap int, s *decision.Seats) (changed []ids.ID, err error) {
	if len(needy) == 0 {
		return nil, nil
	}
	list, most := make([]ids.ID, 0, len(needy)), 0
	for _, j := range needy {
		list, most = append(list, j.JobID), max(most, j.Priority)
	}
	factories := s.Factories(list)
	if len(factories) == 0 {
		return nil, nil
	}
	victims, err := victimsTx(ctx, tx, workspace, factories, most-gap)
	if err != nil {
		return nil, err
	}
	pairs := choose(needy, victims, gap, s)
	if len(pairs) == 0 {
		return nil, nil
	}
	made, err := askTx(ctx, tx, workspace, pairs, gap)
	for _, p := range pairs {
		if slices.Contains(made, p.JobID) {
			changed = append(changed, p.JobID, p.job)
		}
	}
	return changed, err
}
