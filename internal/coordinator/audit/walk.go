package audit

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// page reads what follows a job by id, says how many it read, and the last.
type page func(ctx context.Context, tx db.Tx, w workspace, after ids.ID) (n int, last ids.ID, err error)

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
			err := d.In(ctx, db.Workspace(w.ID), func(tx db.Tx) (err error) {
				n, after, err = read(ctx, tx, w, after)
				return err
			}, db.Thorough)
			if err != nil {
				return fmt.Errorf("read the jobs of %s: %w", w.Slug, err)
			}
			r.Jobs += n
		}
	}
	return nil
}
