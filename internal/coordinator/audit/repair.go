package audit

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Repair is a job whose row is not what its log says.
type Repair struct {
	Workspace   string // slug
	Job         string // key
	Differences []jobs.Differing

	workspace, job ids.ID
}

// Repairs finds the jobs that Write can make what their log says: those of which
// Verify finds the state wrong. Verify reports the others.
func Repairs(ctx context.Context, d *db.DB) ([]Repair, error) {
	var list []Repair
	var r Report
	err := r.walk(ctx, d, verifyPage, func(ctx context.Context, tx db.Tx, w workspace, after ids.ID) (int, ids.ID, error) {
		page, err := replaysTx(ctx, tx, w.ID, after)
		for _, h := range page {
			after = h.id
			if diff := h.stored.Differences(h.told); h.err == nil && len(diff) > 0 {
				list = append(list, Repair{Workspace: w.Slug, Job: h.key, Differences: diff, workspace: w.ID, job: h.id})
			}
		}
		return len(page), after, err
	})
	return list, err
}

// Write makes the job what its log says by now, and records that in the log.
func (r Repair) Write(ctx context.Context, d *db.DB) error {
	return d.In(ctx, db.Workspace(r.workspace), func(tx db.Tx) error {
		found, err := lockTx(ctx, tx, r.workspace, r.job)
		if err != nil || !found {
			return err
		}
		stored, found, err := historyTx(ctx, tx, r.workspace, r.job)
		if err != nil || !found {
			return err
		}
		h := replay(stored)
		if err := fillTx(ctx, tx, r.workspace, h); err != nil {
			return err
		}
		if h.err != nil {
			return h.err
		}
		diff := h.stored.Differences(h.told)
		if len(diff) == 0 {
			return nil
		}
		return jobs.RepairTx(ctx, tx, r.workspace, h.id, h.leaseEpoch, h.told, diff)
	})
}
