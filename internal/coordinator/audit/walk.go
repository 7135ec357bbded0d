package audit

import (
	"context"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

var q = dbsqlc.New()

// page reads what follows a job by id, says how many it read, and the last.
type page func(ctx context.Context, tx db.Tx, w dbsqlc.AuditWorkspacesRow, after ids.ID) (n int, last ids.ID, err error)

func allWorkspaces(ctx context.Context, d *db.DB) (list []dbsqlc.AuditWorkspacesRow, err error) {
	err = d.InSystem(ctx, func(tx db.Tx) error {
		list, err = q.AuditWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the workspaces: %w", err)
	}
	return list, nil
}

// walk goes through all jobs of all workspaces, size at a time, each page in a
// transaction of its own.
func (r *Report) walk(ctx context.Context, d *db.DB, size int, read page) error {
	workspaces, err := allWorkspaces(ctx, d)
	if err != nil {
		return err
	}
	for _, w := range workspaces {
		r.Workspaces++
		n, after := size, ids.Nil
		for n == size {
			err := d.InWorkspaceThorough(ctx, w.ID, func(tx db.Tx) (err error) {
				n, after, err = read(ctx, tx, w, after)
				return err
			})
			if err != nil {
				return fmt.Errorf("read the jobs of %s: %w", w.Slug, err)
			}
			r.Jobs += n
		}
	}
	return nil
}
