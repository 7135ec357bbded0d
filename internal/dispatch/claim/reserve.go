package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// maxClaimed is how many jobs a batch gives out at most, unless it has more agents:
// each gets one at least.
const maxClaimed = 1600

// reserve sees which agents have a free seat, and keeps those for the batch. Claims
// of one factory come one after another from here on; others are not touched.
func (b *claimBatch) reserve() error {
	for _, c := range b.unanswered() {
		// Whoever went away gets nothing; from here on nobody can be left out.
		if c.Err = c.Ctx.Err(); c.Err == nil {
			c.done = c.full()
		}
	}
	if err := b.lockOpen(); err != nil {
		return err
	}
	claims := b.unanswered()
	share := max(1, maxClaimed/max(1, len(claims)))
	ofAgent, ofFactory := map[ids.ID]int{}, map[ids.ID]int{}
	for _, c := range claims {
		if c.Err = b.refuseEnded(c); c.Err != nil {
			continue
		}
		b.countedAgents = append(b.countedAgents, c.agent)
		if c.done = c.full(); c.done {
			continue
		}
		free := min(c.ownSeats()-ofAgent[c.agent.ID], c.factorySeats()-ofFactory[c.agent.FactoryID])
		c.crowded = free <= 0
		c.reserved = max(0, min(free, c.Req.in.Max, share))
		ofAgent[c.agent.ID] += c.reserved
		ofFactory[c.agent.FactoryID] += c.reserved
	}
	return nil
}

// lockOpen locks the factories and agents that are to get something, and reads them
// again, in statements that see what happened until they were locked. A new boot and an
// end of an agent give back what it holds; neither may miss what is claimed at that
// moment.
func (b *claimBatch) lockOpen() error {
	claims := b.unanswered()
	if !slices.ContainsFunc(claims, func(c *claimItem) bool { return !b.locked[c.agent.ID] }) {
		return nil
	}
	err := b.read(b.lockAgents(claims))
	for _, c := range claims {
		if !b.locked[c.agent.ID] {
			c.Retry()
		}
	}
	return err
}

// ownSeats and factorySeats are those that are free. What follows a pull request takes none.
func (c *claimItem) ownSeats() int { return c.agent.Seats - (c.agent.Taken - c.agent.Follows) }
func (c *claimItem) factorySeats() int {
	return c.agent.FactorySeats - (c.agent.FactoryTaken - c.agent.FactoryFollows)
}

// full reports whether the agent may take nothing, and notes why.
func (c *claimItem) full() bool {
	switch {
	case c.agent.Draining:
		c.Res.claimed.Reason = ReasonDraining
	case c.agent.heldFor() > 0:
		c.Res.claimed.Reason, c.Res.held = ReasonRateLimited, c.agent.heldFor()
	case c.ownSeats() <= 0 || c.factorySeats() <= 0:
		c.Res.claimed.Reason = ReasonNoSeats
	default:
		return false
	}
	c.Res.outOfCapacity = c.named == nil
	return true
}
