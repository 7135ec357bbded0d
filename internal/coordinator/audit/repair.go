package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// Repair is a job whose row is not what its log tells.
type Repair struct {
	Workspace   string // slug
	Job         string // key
	Differences []jobs.Differing

	workspace, job ids.ID
}

// Repairs finds the jobs that Write can make what their log tells: those of which
// Verify finds the state wrong. Verify tells of the others.
func Repairs(ctx context.Context, d *db.DB) ([]Repair, error) {
	var list []Repair
	var r Report
	err := r.walk(ctx, d, verifyPage, func(ctx context.Context, tx db.Tx, w dbsqlc.AuditWorkspacesRow, after ids.ID) (int, ids.ID, error) {
		page, err := historiesTx(ctx, tx, w.ID, dbsqlc.AuditHistoriesParams{After: after, MaxRows: verifyPage})
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

// Write makes the job what its log tells by now, and records that in the log.
func (r Repair) Write(ctx context.Context, d *db.DB) error {
	return d.InWorkspace(ctx, r.workspace, func(tx db.Tx) error {
		_, err := q.JobLock(ctx, tx, dbsqlc.JobLockParams{WorkspaceID: r.workspace, ID: r.job})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // it is gone
		}
		if err != nil {
			return fmt.Errorf("lock job: %w", err)
		}
		page, err := historiesTx(ctx, tx, r.workspace, dbsqlc.AuditHistoriesParams{Only: &r.job, MaxRows: 1})
		if err != nil || len(page) == 0 {
			return err
		}
		h := page[0]
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
