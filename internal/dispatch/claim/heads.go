package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/db"
)

// heads finds out for whom there is anything to take.
func (b *claimBatch) heads() (err error) {
	claims := b.unanswered()
	lanes := listLanes(claims)
	if !slices.Equal(lanes, b.hinted) {
		b.newWatermarks, b.watermarks = nil, b.s.watermarks.of(b.workspace, lanes)
		b.ready, err = b.readHeads(b.tx, lanes)
	}
	empty := func(c *claimItem) bool { return c.named == nil && len(b.headsFor(c, b.ready)) == 0 }
	if err == nil && len(b.watermarks) > 0 && slices.ContainsFunc(claims, empty) {
		b.watermarks = nil // once more, from the top
		b.ready, err = b.readHeads(b.tx, lanes)
	}
	if err != nil {
		return err
	}
	for _, c := range claims {
		if empty(c) {
			c.Res.claimed.Reason, c.done = c.emptyReason(), true
		}
	}
	return nil
}

// readHeads returns the first ready jobs of those of the lanes that have one, the most urgent
// first.
func (b *claimBatch) readHeads(tx db.Tx, lanes []int64) ([]head, error) {
	if len(lanes) == 0 {
		return nil, nil
	}
	from := make([]readyKey, 0, len(lanes))
	for _, id := range lanes {
		from = append(from, b.scanFrom(id))
	}
	heads, err := readHeads(b.ctx, tx, b.workspace, lanes, from)
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if _, marked := b.watermarks[h.lane]; !marked {
			b.newWatermarks = append(b.newWatermarks, watermark(h))
		}
	}
	sortHeads(heads)
	return heads, nil
}

// sortHeads puts the more urgent first, then those that came there before.
func sortHeads(heads []head) {
	slices.SortFunc(heads, func(x, y head) int {
		return x.compare(y.readyKey)
	})
}

// scanFrom returns the key from which on jobs of a lane are looked for.
func (b *claimBatch) scanFrom(lane int64) readyKey {
	if at, ok := b.watermarks[lane]; ok {
		return at
	}
	return top
}

// headsFor returns the heads of a claim's lanes without those of products that give
// nothing now. It notes why the most urgent of these does not, or else why jobs of its
// lanes are not even ready.
func (b *claimBatch) headsFor(c *claimItem, heads []head) []head {
	left := make([]head, 0, len(heads))
	c.closed = ""
	for _, h := range heads {
		product, served := c.products[h.lane]
		if !served {
			continue
		}
		why := b.products.closedBy(product, c.verifies(h.lane))
		if why == "" && c.heldFrom(product) {
			why = ReasonBudget
		}
		if why == "" {
			left = append(left, h)
		} else if c.closed == "" {
			c.closed = why
		}
	}
	for _, lane := range b.products.held {
		if product, served := c.products[lane]; served && c.closed == "" {
			c.closed = b.products.closedBy(product, false)
		}
	}
	return left
}

// listLanes returns the lanes of all claims that want any job.
func listLanes(claims []*claimItem) []int64 {
	var lanes []int64
	for _, c := range claims {
		if c.named == nil {
			lanes = append(lanes, c.Res.lanes...)
		}
	}
	return compact(lanes)
}

func compact(lanes []int64) []int64 {
	slices.Sort(lanes)
	return slices.Compact(lanes)
}
