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
	// countBatch is how many changes of the counts one transaction sums up, and
	// countRounds how many times one cycle does so in a workspace at most.
	countBatch  = 5000
	countRounds = 20
	// share is how much longer a sweep that found nothing rests than it took.
	share = 100
)

// sumUp adds what changed in the counts of jobs to the sums, in every workspace,
// so that whoever queries them reads a few rows. It returns how many changes.
// Numbers are right without it, too; two at once take different changes.
func (t *term) sumUp(ctx context.Context) (total int, failed error) {
	workspaces, err := withChangedCounts(ctx, t.db)
	if err != nil {
		return 0, err
	}
	for _, w := range workspaces {
		n, err := t.sumUpIn(ctx, w)
		total, failed = total+n, errors.Join(failed, err)
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

// sparing returns a sweep that looks at all that waits. Where it found nothing it rests
// a hundred times as long as that took: it takes a hundredth of one connection's
// time at most, however much waits.
func sparing(do func(context.Context) (int, error)) func(context.Context) (int, error) {
	var rests time.Time
	return func(ctx context.Context) (int, error) {
		began := time.Now()
		if began.Before(rests) {
			return 0, nil
		}
		n, err := do(ctx)
		if n == 0 {
			rests = time.Now().Add(share * time.Since(began))
		}
		return n, err
	}
}
