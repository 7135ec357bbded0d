package spend

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// ToPrice returns the workspaces that have usage to price.
func ToPrice(ctx context.Context, d *db.DB) (list []ids.ID, err error) {
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		list, err = q.UsagePricingWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("workspaces with usage to price: %w", err)
	}
	return list, nil
}

// pricingTx locks where the pricing of a workspace stands; false where nothing is requested
// or somebody else is at it.
func pricingTx(ctx context.Context, tx db.Tx, workspace ids.ID) (pricing, bool, error) {
	r, err := q.UsagePricingLock(ctx, tx, workspace)
	if errors.Is(err, pgx.ErrNoRows) {
		return pricing{}, false, nil
	}
	if err != nil {
		return pricing{}, false, err
	}
	return pricing{since: r.Since, after: place{r.AfterAt, entryKey{r.AfterJob, r.AfterID}}, locked: r.WasLocked,
		savedAt: r.SavedAt, now: r.Now}, true, nil
}

// moveTx keeps how far a pass is.
func (p pricing) moveTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	return q.UsagePricingMove(ctx, tx, dbsqlc.UsagePricingMoveParams{
		WorkspaceID: workspace, AfterAt: p.after.at, AfterID: p.after.id, AfterJob: p.after.job, WasLocked: p.locked})
}

// endTx ends a pass: the next one begins later where something may be left.
func (p pricing) endTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	if p.locked || p.now.Sub(p.savedAt) < settleTime {
		p.after, p.locked = place{at: p.since}, false
		return p.moveTx(ctx, tx, workspace)
	}
	return q.UsagePricingEnd(ctx, tx, workspace)
}

// toPriceTx reads entries of which no cost is known.
func toPriceTx(ctx context.Context, tx db.Tx, workspace ids.ID, after place, most int) ([]unpriced, error) {
	rows, err := q.UsageToPrice(ctx, tx, dbsqlc.UsageToPriceParams{
		WorkspaceID: workspace, AfterAt: after.at, AfterID: after.id, AfterJob: after.job, MaxRows: most})
	return db.Map(rows, err, func(r dbsqlc.UsageToPriceRow) unpriced {
		return unpriced{place: place{r.BookedAt, entryKey{r.JobID, r.ID}}, epoch: r.Epoch, provider: r.Provider, model: r.Model}
	})
}

// lockFreeTx locks the sums and then the entries that nobody else has locked, and reads
// those entries.
func lockFreeTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []unpriced) ([]keptEntry, error) {
	var (
		in     []ids.ID
		epochs []int64
	)
	for _, u := range list {
		in, epochs = append(in, u.job), append(epochs, u.epoch)
	}
	sums, err := q.UsageHold(ctx, tx, workspace, in, epochs)
	if err != nil {
		return nil, err
	}
	held := map[Lease]bool{}
	for _, s := range sums {
		held[Lease{s.JobID, s.Epoch}] = true
	}
	var (
		free  []ids.ID
		names []string
	)
	for _, u := range list {
		if held[Lease{u.job, u.epoch}] {
			free, names = append(free, u.job), append(names, u.id)
		}
	}
	rows, err := q.UsageLockFree(ctx, tx, free, names, workspace)
	if err != nil {
		return nil, err
	}
	same := make([]dbsqlc.UsageLockRow, len(rows))
	for i, r := range rows {
		same[i] = dbsqlc.UsageLockRow(r)
	}
	booked, err := bookedTx(ctx, tx, workspace, same)
	if err != nil {
		return nil, err
	}
	kept := make([]keptEntry, len(same))
	for i, r := range same {
		kept[i] = toKeptEntry(r, booked)
	}
	return kept, nil
}
