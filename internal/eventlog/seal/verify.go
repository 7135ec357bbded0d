package seal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// verifyBlocks is how many blocks Verify reads at a time.
const verifyBlocks = 8

// ErrNoKey says that seals cannot be checked or made.
var ErrNoKey = errors.New("the log is sealed: give FLEETBOARD_SECRET_KEY, or FLEETBOARD_DATA_DIR with the server's secret key in it")

// Verifier checks logs against their seals and marks.
type Verifier struct {
	db    *db.DB
	keys  *Keys
	marks marks
	cuts  map[ids.ID]string
}

// NewVerifier reads the marks that the store keeps. An error means that they cannot
// be read or are not the server's. Without keys, Check gives ErrNoKey for each log
// that is sealed.
func NewVerifier(ctx context.Context, d *db.DB, keys *Keys, store Store) (*Verifier, error) {
	if keys == nil {
		return &Verifier{db: d}, nil
	}
	m, err := loadMarks(ctx, store, keys)
	if err != nil {
		return nil, err
	}
	v := &Verifier{db: d, keys: keys, marks: m, cuts: map[ids.ID]string{}}
	err = d.In(ctx, db.System, func(tx db.Tx) error {
		heads, err := headsTx(ctx, tx)
		if err != nil {
			return err
		}
		cuts, err := cutTx(ctx, tx, m, heads)
		for _, c := range cuts {
			v.cuts[c.Workspace] = c.Detail
		}
		return err
	})
	return v, err
}

// Check goes through the sealed part of a log and calls found with each thing that
// is wrong: an event that is gone, was changed or was added later, a block that was
// changed, a log that ends before its mark.
func (v *Verifier) Check(ctx context.Context, workspace ids.ID, found func(detail string)) error {
	if v.keys == nil {
		return v.unsealed(ctx, workspace)
	}
	if detail := v.cuts[workspace]; detail != "" {
		found(detail)
	}
	c := &check{Verifier: v, workspace: workspace, found: found}
	for more := true; more; {
		err := v.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			more, err = c.pageTx(ctx, tx)
			return err
		}, db.Thorough)
		if err != nil {
			return fmt.Errorf("check the seals of a log: %w", err)
		}
	}
	return nil
}

// unsealed gives ErrNoKey where a log is sealed.
func (v *Verifier) unsealed(ctx context.Context, workspace ids.ID) error {
	return v.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		last, err := lastTx(ctx, tx, workspace)
		if err == nil && last.number > 0 {
			err = ErrNoKey
		}
		return err
	})
}

// check is the walk through one log.
type check struct {
	*Verifier
	workspace ids.ID
	found     func(string)
	last      block // checked before
}

// pageTx checks the next blocks, and reports whether there may be more.
func (c *check) pageTx(ctx context.Context, tx db.Tx) (more bool, err error) {
	first := c.last.number + 1
	if c.last.number == 0 {
		if first, err = openingTx(ctx, tx, c.workspace); err != nil {
			return false, err
		}
		if first == 0 {
			return false, c.unopenedTx(ctx, tx)
		}
	}
	blocks, err := blocksTx(ctx, tx, c.workspace, first, verifyBlocks)
	if err != nil {
		return false, err
	}
	for _, b := range blocks {
		if err := c.blockTx(ctx, tx, b); err != nil {
			return false, err
		}
		c.last = b
	}
	if len(blocks) == verifyBlocks {
		return true, nil
	}
	if !c.keys.trusts(c.last.digest, c.last.signed, c.marks.Signers...) {
		c.found(fmt.Sprintf("block %d, the last one, is not signed by this server", c.last.number))
	}
	return false, nil
}

// unopenedTx finds blocks whose opening block was taken away.
func (c *check) unopenedTx(ctx context.Context, tx db.Tx) error {
	b, err := lastTx(ctx, tx, c.workspace)
	if err == nil && b.number > 0 {
		c.found("the block that opens the chain is gone")
	}
	return err
}

// blockTx checks a block and the events between the place of the one before and its
// own.
func (c *check) blockTx(ctx context.Context, tx db.Tx, b block) error {
	if c.last.number > 0 && (b.number != c.last.number+1 || !bytes.Equal(b.previous, c.last.digest)) {
		c.found(fmt.Sprintf("block %d does not follow block %d: blocks between them are gone or were changed", b.number, c.last.number))
	}
	if !bytes.Equal(b.digest, b.sum(c.workspace)) || len(b.digests) != digestSize*len(b.events) {
		c.found(fmt.Sprintf("block %d was changed", b.number))
	}
	if b.opens {
		return nil
	}
	// Twice as many as the block has are enough to see that events were added.
	list, err := eventsTx(ctx, tx, c.workspace, c.last.to, b.to, (2*len(b.events) + 1))
	if err != nil {
		return err
	}
	return c.excuseTx(ctx, tx, c.compare(b, list))
}

// compare gives the sealed events that are not what they were, each with its digest
// now, nil where it is gone, and reports those that were not sealed.
func (c *check) compare(b block, list []event) map[int64][]byte {
	sealed := make(map[int64][]byte, len(b.events))
	for i, id := range b.events {
		if end := digestSize * (i + 1); end <= len(b.digests) {
			sealed[id] = b.digests[end-digestSize : end]
		}
	}
	differ := make(map[int64][]byte, len(b.events))
	for _, id := range b.events {
		differ[id] = nil
	}
	for _, e := range list {
		digest, known := sealed[e.ID]
		switch now := e.digest(c.workspace); {
		case !known:
			c.found(fmt.Sprintf("event %d (%s) was added later, before the place where the log ended", e.ID, e.Type))
		case bytes.Equal(digest, now):
			delete(differ, e.ID)
		default:
			differ[e.ID] = now
		}
	}
	return differ
}

// excuseTx leaves out the events that a signed fold took away or made the sum of
// others, and reports the rest.
func (c *check) excuseTx(ctx context.Context, tx db.Tx, differ map[int64][]byte) error {
	if len(differ) == 0 {
		return nil
	}
	which := make([]int64, 0, len(differ))
	for id := range differ {
		which = append(which, id)
	}
	slices.Sort(which)
	folds, err := foldsTx(ctx, tx, c.workspace, which)
	if err != nil {
		return err
	}
	for _, f := range folds {
		if !c.keys.trusts(f.sum(c.workspace), f.signed, c.marks.Signers...) {
			c.found(fmt.Sprintf("the fold into event %d is not signed by this server", f.event))
			continue
		}
		if now, there := differ[f.event]; there && bytes.Equal(now, f.digest) {
			delete(differ, f.event)
		}
		for _, id := range f.removed {
			if now, there := differ[id]; there && now == nil {
				delete(differ, id)
			}
		}
	}
	for _, id := range which {
		switch now, there := differ[id]; {
		case !there:
		case now == nil:
			c.found(fmt.Sprintf("event %d is gone", id))
		default:
			c.found(fmt.Sprintf("event %d was changed", id))
		}
	}
	return nil
}
