package jobs

import (
	"context"
	"math"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Lineage is the place of a job among those that agents filed: the first job of its chain,
// and how many steps away that is. A job that a person created is a root. It is fixed when
// the job is created: links that people make or remove, and a root that is deleted, do not
// change it.
type Lineage struct {
	Root    ids.ID
	RootKey string // "" where the root was deleted
	Depth   int
}

// openRetry is how many seconds an agent waits for one of the open jobs of a root to end.
const openRetry = 60

// LineageTx gives the place of a job, by key or id, below whose root nobody else files until
// the transaction ends. It comes before the lock of any row. Fault: NotFound.
func LineageTx(ctx context.Context, tx db.Tx, workspace ids.ID, keyOrID string) (Lineage, error) {
	id, err := find(ctx, tx, workspace, keyOrID)
	if err != nil {
		return Lineage{}, err
	}
	return lineageTx(ctx, tx, workspace, id)
}

// next returns the place of a job that is found by one at l.
func (l Lineage) next() Lineage {
	l.Depth++
	return l
}

// CheckDepth refuses a job that is found by one at l and would be too far from the root.
func (l Lineage) CheckDepth(p fault.Problems, field string) {
	if l.Depth >= MaxFiledDepth {
		p.Add(field, "It must be at most %d steps away from %s, the first job, and is there already.", MaxFiledDepth, l.root())
	}
}

// RequireRoomTx refuses another job below the root with TooMany: MaxFiledOpen are open, or
// MaxFiledPerHour have come within an hour.
func (l Lineage) RequireRoomTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	open, wait, err := rootLoadTx(ctx, tx, workspace, l.Root)
	switch {
	case err != nil:
		return err
	case open >= MaxFiledOpen:
		return fault.New(fault.TooMany, "%d jobs that agents filed below %s are open, and there may be %d. File more when some have ended.",
			open, l.root(), MaxFiledOpen).With("retry_after", openRetry)
	case wait > 0:
		return fault.New(fault.TooMany, "Agents filed %d jobs below %s within an hour. File more later.", MaxFiledPerHour, l.root()).
			With("retry_after", int(math.Ceil(wait)))
	}
	return nil
}

func (l Lineage) root() string {
	if l.RootKey == "" {
		return "a deleted job"
	}
	return l.RootKey
}

func lineageTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (Lineage, error) {
	row, err := q.JobLineage(ctx, tx, workspace, job)
	if err != nil {
		return Lineage{}, err
	}
	if err := q.NamedLock(ctx, tx, "root:"+workspace.String()+":"+row.RootID.String()); err != nil {
		return Lineage{}, err
	}
	return Lineage{Root: row.RootID, RootKey: row.RootKey, Depth: row.Depth}, nil
}

func saveLineageTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, l Lineage) error {
	return q.JobLineageSave(ctx, tx, &l.Root, l.Depth, workspace, job)
}

// rootLoadTx counts what is open below a root, up to the most that may be, and gives how many
// seconds have to pass until another job may come; 0 is none.
func rootLoadTx(ctx context.Context, tx db.Tx, workspace, root ids.ID) (open int, wait float64, err error) {
	row, err := q.JobRootLoad(ctx, tx, workspace, root, MaxFiledOpen, MaxFiledPerHour-1)
	if err != nil {
		return 0, 0, err
	}
	return row.Open, row.WaitSeconds, nil
}
