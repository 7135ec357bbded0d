package eventlog

import (
	"context"
	"fmt"
	"sync"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// A call of Compact looks at compactPages pages of compactPage jobs, and deletes at
// most collectBatch contents of each workspace that it begins with.
const (
	compactPage  = 200
	compactPages = 10
	collectBatch = 10_000
)

// compaction is where the next call of Compact goes on. It lives as long as the
// process: to begin again from the start is only slower.
type compaction struct {
	mu        sync.Mutex
	workspace ids.ID
	job       ids.ID
}

// Compact folds the events of a job that are older than 90 days into one, where
// there are more than 50. Each call looks at a bounded number of jobs and goes
// on where the last one ended, round and round. It returns how many jobs were
// folded. The age and the number are the database's to decide: see migration
// 00011 and ADR 0016.
func (l *Log) Compact(ctx context.Context) (folded int, err error) {
	l.compaction.mu.Lock()
	defer l.compaction.mu.Unlock()
	all, err := workspaces(ctx, l.db)
	if err != nil {
		return 0, err
	}
	at := &l.compaction
	pages := 0
	for _, w := range all {
		if w.String() < at.workspace.String() {
			continue
		}
		if w != at.workspace {
			at.workspace, at.job = w, ids.Nil
			err := l.db.In(ctx, db.Workspace(w), func(tx db.Tx) error { return collectTx(ctx, tx, w) })
			if err != nil {
				return folded, fmt.Errorf("collect the contents of %s: %w", w, err)
			}
		}
		for more := true; more; pages++ {
			if pages == compactPages {
				return folded, nil
			}
			var n int
			n, more, err = l.compactPage(ctx, w)
			folded += n
			if err != nil {
				return folded, fmt.Errorf("compact the log of %s: %w", w, err)
			}
		}
	}
	at.workspace, at.job = ids.Nil, ids.Nil
	return folded, nil
}

// compactPage folds what is due of the next page of jobs, each in a transaction
// of its own. more is false after the last page.
func (l *Log) compactPage(ctx context.Context, workspace ids.ID) (folded int, more bool, err error) {
	var page []compactable
	err = l.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		page, err = compactableTx(ctx, tx, workspace, l.compaction.job)
		return err
	})
	for _, one := range page {
		if err != nil {
			break
		}
		// One that cannot be folded does not hold up those after it for ever.
		l.compaction.job = one.job
		if !one.due {
			continue
		}
		err = l.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := l.compactTx(ctx, tx, workspace, one.job)
			if n > 0 {
				folded++
			}
			return err
		})
	}
	return folded, len(page) == compactPage, err
}

// compactTx folds the old events of a job, and returns how many.
func (l *Log) compactTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (folded int, err error) {
	before, folded, err := foldTx(ctx, tx, workspace, job)
	if err != nil || folded == 0 || l.folds == nil {
		return folded, err
	}
	// The sum stands at the place of the newest of the events that it stands for.
	removed, sum := before[:folded-1], before[folded-1]
	return folded, l.folds.FoldTx(ctx, tx, workspace, sum, removed)
}
