package verifying

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// ending is a verification about which something is to be done.
type ending = dbsqlc.JobVerifyEndingRow

// workspaces returns those in which verifications are open.
func workspaces(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = q.JobVerifyWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("workspaces with verifications: %w", err)
	}
	return list, nil
}

// listEnding returns the verifications of a workspace about which something is to be done.
func (s *Service) listEnding(ctx context.Context, workspace ids.ID) (list []ending, err error) {
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		list, err = q.JobVerifyEnding(ctx, tx, workspace, atOnce)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("verifications that end: %w", err)
	}
	return list, nil
}

// close notes that nobody gives a verdict any more.
func (s *Service) close(ctx context.Context, workspace, verify ids.ID) error {
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		return q.JobVerifyDecide(ctx, tx, workspace, verify)
	})
	if err != nil {
		return fmt.Errorf("close a verification: %w", err)
	}
	return nil
}
