package seal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

const (
	// blockEvents is how many events a block has at most.
	blockEvents = 2000
	// roundBlocks is how many blocks one call of Seal adds to a log at most.
	roundBlocks = 20
)

// Sealer seals the logs of all workspaces.
type Sealer struct {
	db   *db.DB
	keys *Keys
}

// New returns the sealer of the logs kept in d.
func New(d *db.DB, keys *Keys) *Sealer { return &Sealer{db: d, keys: keys} }

// Seal adds blocks to the logs that went on, and returns how many events they
// have. A call does a bounded part. Two at once do no harm: of two blocks with one
// number the second is not written.
func (s *Sealer) Seal(ctx context.Context) (events int, failed error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.LogSealDue(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, w := range workspaces {
		n, err := s.sealOne(ctx, w)
		events += n
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("seal the log of %s: %w", w, err))
		}
	}
	return events, failed
}

func (s *Sealer) sealOne(ctx context.Context, workspace ids.ID) (total int, err error) {
	for n, i := blockEvents, 0; n == blockEvents && i < roundBlocks && err == nil; i++ {
		began := time.Now()
		err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			n, err = s.sealTx(ctx, tx, workspace)
			return err
		}, db.ByIndex)
		if err == nil {
			total += n
		}
		if n == blockEvents {
			runloop.Rest(ctx, began)
		}
	}
	return total, err
}

// sealTx adds one block to a log, after one that opens the chain where it is the
// first, and returns how many events it has.
func (s *Sealer) sealTx(ctx context.Context, tx db.Tx, workspace ids.ID) (int, error) {
	last, err := lastTx(ctx, tx, workspace)
	if err != nil {
		return 0, err
	}
	if last.number == 0 {
		opening, opened, err := s.openTx(ctx, tx, workspace, last)
		if err != nil || !opened {
			return 0, err
		}
		last = opening
	}
	list, err := eventsTx(ctx, tx, workspace, last.to, end, blockEvents)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	b := block{number: last.number + 1, previous: last.digest}
	for _, e := range list {
		b.events = append(b.events, e.ID)
		b.digests = append(b.digests, e.digest(workspace)...)
	}
	newest := list[len(list)-1]
	b.to = place{newest.Xid, newest.ID}
	appended, err := appendTx(ctx, tx, workspace, s.signed(workspace, b))
	if err != nil || !appended {
		return 0, err
	}
	return len(list), nil
}

// openTx opens a chain after a block: events are sealed from the first one on. It
// does not where another process has just appended a block.
func (s *Sealer) openTx(ctx context.Context, tx db.Tx, workspace ids.ID, last block) (opening block, opened bool, err error) {
	b := s.signed(workspace, block{number: last.number + 1, opens: true, to: beginning, events: []int64{}, digests: []byte{},
		previous: last.digest})
	opened, err = appendTx(ctx, tx, workspace, b)
	return b, opened, err
}

func (s *Sealer) signed(workspace ids.ID, b block) block {
	b.digest = b.sum(workspace)
	b.signed = s.keys.sign(b.digest)
	return b
}

// Reopen opens a new chain for each log that was sealed, which accepts all logs as
// they are now: after a restore whose loss is known, or after transaction ids were
// rewritten. It returns how many.
func (s *Sealer) Reopen(ctx context.Context) (opened int, err error) {
	var heads map[ids.ID]block
	err = s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		heads, err = headsTx(ctx, tx)
		return err
	})
	for workspace := range heads {
		if err != nil {
			return opened, err
		}
		err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			last, err := lastTx(ctx, tx, workspace)
			if err != nil {
				return err
			}
			_, done, err := s.openTx(ctx, tx, workspace, last)
			if done {
				opened++
			}
			return err
		})
	}
	return opened, err
}

// FoldTx notes in the caller's transaction that an event stands for others now,
// which were removed in it. The event is as the transaction leaves it.
func (s *Sealer) FoldTx(ctx context.Context, tx db.Tx, workspace ids.ID, event int64, removed []int64) error {
	e, err := eventTx(ctx, tx, workspace, event)
	if err != nil {
		return err
	}
	f := fold{event: event, digest: e.digest(workspace), removed: removed}
	f.signed = s.keys.sign(f.sum(workspace))
	return appendFoldTx(ctx, tx, workspace, f)
}
