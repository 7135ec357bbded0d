// Package ageing keeps the order of ready jobs: it moves them where a workspace begins or ceases to put
// short jobs first, and makes them more urgent by waiting, where a workspace wants that: after
// each so many minutes at a priority a job stands at the next one, behind those that came there
// before. So a job of priority p is at the top after (jobs.MaxPriority - p) times as long, and
// from there the jobs before it are counted: nothing that becomes ready later comes before it,
// in its lane and among those of its product.
package ageing

import (
	"context"
	"errors"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// maxRaised is how many jobs one transaction raises.
const maxRaised = 500

// Service raises ready jobs.
type Service struct{ db *db.DB }

// New returns the ageing of the jobs kept in d.
func New(d *db.DB) *Service { return &Service{d} }

// AgeReady raises what has waited long enough, in every workspace that wants it, and returns how
// many jobs it raised. Each workspace has a bounded part of each cycle.
func (s *Service) AgeReady(ctx context.Context) (int, error) {
	var workspaces []ageingWorkspace
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = ageingWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total, failed := s.placeReady(ctx)
	for _, w := range workspaces {
		n, err := s.ageWorkspace(ctx, w.WorkspaceID, w.AgeingMinutes)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

// placeReady moves the ready jobs of the workspaces where settings were changed to where they stand by
// the present ones, and returns how many it moved.
func (s *Service) placeReady(ctx context.Context) (total int, failed error) {
	var list []unplacedWorkspace
	if err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		list, err = unplacedWorkspaces(ctx, tx)
		return err
	}); err != nil {
		return 0, err
	}
	for _, w := range list {
		n, err := s.placeWorkspace(ctx, w)
		total, failed = total+n, errors.Join(failed, err)
	}
	return total, failed
}

func (s *Service) placeWorkspace(ctx context.Context, w unplacedWorkspace) (total int, err error) {
	var last ids.ID
	for begun := false; !begun || last != ids.Nil; begun = true {
		err := s.db.In(ctx, db.Workspace(w.WorkspaceID), func(tx db.Tx) error {
			next, n, err := placeTx(ctx, tx, w.WorkspaceID, last)
			last, total = next, total+n
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, s.db.In(ctx, db.Workspace(w.WorkspaceID), func(tx db.Tx) error { return placedTx(ctx, tx, w) })
}

// maxRounds is how often a cycle raises jobs of one workspace.
const maxRounds = 20

func (s *Service) ageWorkspace(ctx context.Context, workspace ids.ID, minutes int) (total int, err error) {
	for range maxRounds {
		var n int64
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			n, err = raiseTx(ctx, tx, workspace, minutes)
			return err
		})
		total += int(n)
		if err != nil || n < maxRaised {
			return total, err
		}
	}
	return total, nil
}
