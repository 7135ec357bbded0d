package screens

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// cardPaths is how many paths a card has of each collision.
const cardPaths = 1

// collisions reads what the jobs collide with, each with at most so many paths. It costs a statement
// where a job of them is worked on in a repo and some agent of the workspace says which files it
// touches.
func (r *reader) collisions(list []jobs.Job, paths int) (map[ids.ID][]collisions.Collision, error) {
	if !r.snap.Touches {
		return nil, nil
	}
	var leased []ids.ID
	for _, j := range list {
		if j.Lease != nil && j.Repo != "" {
			leased = append(leased, j.ID)
		}
	}
	if len(leased) == 0 {
		return nil, nil
	}
	return collisions.ListTx(r.ctx, r.tx, r.workspace, leased, paths)
}

// collisionsTx reads what one job collides with.
func collisionsTx(ctx context.Context, tx db.Tx, workspace ids.ID, j jobs.Job, snap fleet.Snapshot) ([]collisions.Collision, error) {
	r := reader{ctx: ctx, tx: tx, workspace: workspace, snap: snap}
	found, err := r.collisions([]jobs.Job{j}, collisions.MaxPaths)
	return found[j.ID], err
}

// Collisions are the jobs that touch the same files as one job.
type Collisions struct {
	List    []collisions.Collision
	Touched int // files of the job that are compared, up to collisions.MaxTouched
}

// Collisions reads what a job collides with: nothing where nobody works on it. NotFound where
// there is no such job.
func (s *Service) Collisions(ctx context.Context, who tenancy.Principal, keyOrID string) (Collisions, error) {
	var found Collisions
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) error {
		job, err := jobs.LoadTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil || job.Lease == nil {
			return err
		}
		if found.Touched, err = collisions.TouchedTx(ctx, tx, who.Workspace, job.ID); err != nil {
			return err
		}
		of, err := collisions.ListTx(ctx, tx, who.Workspace, []ids.ID{job.ID}, collisions.MaxPaths)
		found.List = of[job.ID]
		return err
	})
	return found, err
}
