package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// dequeue takes jobs out of the queue for claims, and says why the others get none.
func (b *claimBatch) dequeue() error {
	claims := b.unanswered()
	if b.settings.Mode == setting.Targeted {
		if err := b.matched.match(slices.DeleteFunc(b.unanswered(), func(c *claimItem) bool { return c.named != nil })); err != nil {
			return err
		}
		claims = slices.DeleteFunc(claims, func(c *claimItem) bool { return c.named == nil })
	}
	if err := b.takeInTurn(claims); err != nil {
		return err
	}
	for _, c := range b.unanswered() {
		c.explainNothing(b.items)
	}
	return nil
}

// takeInTurn takes jobs for agents of the same lanes together, in the order in which they came.
func (b *claimBatch) takeInTurn(claims []*claimItem) error {
	for len(claims) > 0 {
		first := claims[0]
		var group, others []*claimItem
		for _, c := range claims {
			if c == first || first.named == nil && c.named == nil && first.unpriced == nil && c.unpriced == nil &&
				slices.Equal(c.Res.lanes, first.Res.lanes) {
				group = append(group, c)
			} else {
				others = append(others, c)
			}
		}
		claims = others
		take := func() error { return b.takeFor(group) }
		if first.named != nil {
			take = func() error { return b.takeNamed(first) }
		}
		if err := take(); err != nil {
			return err
		}
	}
	return nil
}

// explainNothing sets the reason of a claim that has got no job. Where other claims of the batch
// have reserved seats that they did not need, it is tried again alone.
func (c *claimItem) explainNothing(all []*claimItem) {
	switch {
	case len(c.taken) > 0:
	case !c.crowded:
		c.Res.claimed.Reason, c.done = c.emptyReason(), true
	default:
		own, factory := c.ownSeats(), c.factorySeats()
		for _, other := range all {
			if other.agent.FactoryID == c.agent.FactoryID {
				factory -= len(other.taken)
			}
			if other.agent.ID == c.agent.ID {
				own -= len(other.taken)
			}
		}
		if own > 0 && factory > 0 {
			c.Retry()
			return
		}
		c.Res.claimed.Reason, c.Res.outOfCapacity, c.done = ReasonNoSeats, true, true
	}
}

// emptyReason returns why a claim has found no job.
func (c *claimItem) emptyReason() string {
	switch {
	case c.closed != "":
		return c.closed
	case c.holder != nil:
		return ReasonBudget
	}
	return ReasonEmpty
}

// takeNamed takes the one job that was requested.
func (b *claimBatch) takeNamed(c *claimItem) error {
	if c.crowded {
		return nil
	}
	c.Err = b.products.requireOpen(*c.named)
	if c.Err != nil {
		return nil //nolint:nilerr // the refusal of this claim, not of the batch
	}
	taken, err := takeJob(b.ctx, b.tx, *c.named, b.workspace)
	if err != nil {
		return err
	}
	if !taken {
		c.Err = notClaimable(*c.named)
		return nil
	}
	c.taken = []ids.ID{c.named.ID}
	return nil
}

// takeFor takes jobs for claims of the same lanes.
func (b *claimBatch) takeFor(group []*claimItem) error {
	n := 0
	for _, c := range group {
		n += c.reserved
	}
	if n == 0 {
		return nil
	}
	taken, err := b.takeFrom(group[0], n)
	if err != nil {
		return err
	}
	for _, c := range group {
		got := min(c.reserved, len(taken))
		c.taken, taken = taken[:got:got], taken[got:]
		c.closed = group[0].closed
	}
	return nil
}

// takeFrom takes up to n jobs of the most urgent ones, of as urgent ones by the turns of their
// products, then it looks again. A job that another claim is taking is passed over.
func (b *claimBatch) takeFrom(c *claimItem, n int) ([]ids.ID, error) {
	var taken []ids.ID
	dry := map[int64]bool{}
	for len(taken) < n {
		// The first to take can go by the heads that were read already.
		heads, again := b.ready, b.ready == nil
		if b.ready = nil; again {
			var err error
			if heads, err = b.readHeads(b.tx, listLanes([]*claimItem{c})); err != nil {
				return nil, err
			}
		}
		forgetIdle(b, c, heads)
		heads = slices.DeleteFunc(b.headsFor(c, heads), func(h head) bool { return dry[h.lane] })
		if len(heads) == 0 && len(b.watermarks) > 0 {
			b.watermarks = nil // once more, from the top
			continue
		}
		if len(heads) == 0 {
			break
		}
		for _, t := range b.planTurns(c, heads, n-len(taken)) {
			rows, err := b.takeLane(c, t.lane, t.least, t.jobs)
			if err != nil {
				return nil, err
			}
			left := t.jobs
			for _, row := range rows {
				taken = append(taken, row.job)
				if row.priority == t.priority {
					left--
				}
			}
			b.s.strides.takeBack(b.workspace, t.priority, t.competitor, left)
			dry[t.lane] = again && len(rows) == 0
		}
	}
	return taken, nil
}

// takeLane takes up to n jobs of at least a priority for a claim from a lane, in its order.
func (b *claimBatch) takeLane(c *claimItem, lane int64, least, n int) ([]readyKey, error) {
	if len(c.narrow(c.products[lane])) > 0 {
		return b.takeOutside(c, lane, least, n)
	}
	keys, err := takeReady(b.ctx, b.tx, b.workspace, lane, b.scanFrom(lane), least, n)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(keys, readyKey.compare)
	if len(keys) > 0 {
		b.newWatermarks = append(b.newWatermarks, watermark{lane, keys[len(keys)-1], 0})
	}
	return keys, nil
}
