package audit

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Checks that are not about one job that is there. What they find is named by the
// id that a row speaks of, or not at all.
const (
	countsCheck = "counts"
	strayCheck  = "stray"
)

var wholes = []Check{
	{Name: strayCheck, About: "leases, attempts, texts and the queue belong to jobs, agents and factories that are there"},
	{Name: countsCheck, About: "the counts of jobs by product and status are those of the jobs"},
}

// lastID is behind all ids.
var lastID, _ = ids.Parse("ffffffff-ffff-ffff-ffff-ffffffffffff")

// stray looks for rows without their job between the jobs of a page: after one id
// and up to another.
func (r *Report) stray(ctx context.Context, tx db.Tx, w workspace, after, last ids.ID) error {
	rows, err := q.AuditStray(ctx, tx, w.ID, after, last)
	for _, s := range rows {
		r.note(strayCheck, w.Slug, s.JobID.String(), s.About)
	}
	return err
}

func (r *Report) counts(ctx context.Context, tx db.Tx, w workspace) error {
	wrong, err := q.AuditCounts(ctx, tx, w.ID)
	for _, c := range wrong {
		r.note(countsCheck, w.Slug, "", fmt.Sprintf("%d jobs of %s are %s, %d are counted", c.Present, c.Product, c.Status, c.Counted))
	}
	return err
}
