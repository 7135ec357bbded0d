package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// countBatch is how many changes of the counts one transaction sums up, countRounds how
	// many such transactions a cycle has in a workspace at most.
	countBatch  = 5000
	countRounds = 20
	// idleRestFactor is how many times as long as it took a sweep rests that found nothing.
	idleRestFactor = 100
)

// sumUp adds the changes of the counts of jobs to their sums, in every workspace, so that
// queries read a few rows. It returns how many changes it added. Queries are right without
// it, too; two processes at once take different changes.
func (t *term) sumUp(ctx context.Context) (total int, failed error) {
	workspaces, err := withChangedCounts(ctx, t.db)
	if err != nil {
		return 0, err
	}
	for _, w := range workspaces {
		n, err := t.sumUpIn(ctx, w)
		total += n
		failed = errors.Join(failed, err)
	}
	return total, failed
}

func (t *term) sumUpIn(ctx context.Context, workspace ids.ID) (total int, err error) {
	n := countBatch
	for i := 0; i < countRounds && n == countBatch; i++ {
		err = t.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err = sumUpTx(ctx, tx, workspace)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("sum up counts: %w", err)
		}
		total += n
	}
	return total, nil
}

// restingWhenIdle returns a sweep that reads everything that waits. After it found nothing it rests
// a hundred times as long as that took: it uses a hundredth of one connection's time at most,
// however much waits.
func restingWhenIdle(do func(context.Context) (int, error)) func(context.Context) (int, error) {
	var restUntil time.Time
	return func(ctx context.Context) (int, error) {
		began := time.Now()
		if began.Before(restUntil) {
			return 0, nil
		}
		n, err := do(ctx)
		if n == 0 {
			restUntil = time.Now().Add(idleRestFactor * time.Since(began))
		}
		return n, err
	}
}
