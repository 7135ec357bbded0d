package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// turn is what is taken from a lane before the heads are read again.
type turn struct {
	competitor
	lane     int64
	priority int // of the lane's head
	least    int // of a job that may be taken
	jobs     int
}

// planTurns returns what is taken of the next n jobs from the lanes with these heads, which are
// in order. Where all heads that are as urgent as the first one are of one product, its first
// lane gives those that are at least as urgent as its next lane's head and more urgent than all
// other products'; otherwise the first lane of each product gives its share of those that are
// as urgent as the first head.
func (b *claimBatch) planTurns(c *claimItem, heads []head, n int) []turn {
	top := heads[0].priority
	var turns []turn
	var list []competitor
	for _, h := range heads {
		product := c.products[h.lane]
		if h.priority == top && !slices.ContainsFunc(list, func(o competitor) bool { return o.product == product }) {
			list = append(list, competitor{product, b.settings.Weight(product)})
			turns = append(turns, turn{competitor: list[len(list)-1], lane: h.lane, priority: top, least: top})
		}
	}
	if len(list) == 1 {
		turns[0].least = findLeast(heads, func(h head) bool { return c.products[h.lane] == list[0].product })
	}
	for i, jobs := range b.s.strides.plan(b.workspace, top, list, n) {
		turns[i].jobs = jobs
	}
	return slices.DeleteFunc(turns, func(t turn) bool { return t.jobs == 0 })
}

// findLeast returns how urgent at least a job of the first lane must be to be taken before the other
// lanes are looked at.
func findLeast(heads []head, ofFirst func(head) bool) int {
	least := 0
	for _, h := range heads[1:] {
		if !ofFirst(h) {
			return max(least, h.priority+1)
		}
		least = max(least, h.priority)
	}
	return least
}

// forgetIdle takes the turns of the products that the claim sees all lanes of and that have no ready
// job there. One that is paused, or kept from this claim, keeps its turns.
func forgetIdle(b *claimBatch, c *claimItem, heads []head) {
	urgency := func(product ids.ID) (int, bool) {
		at := slices.IndexFunc(heads, func(h head) bool { return c.products[h.lane] == product })
		if at < 0 {
			return 0, false
		}
		return heads[at].priority, true
	}
	b.s.strides.forgetIdle(b.workspace, urgency, func(product ids.ID) bool { return !c.partly[product] })
}
