package bus

import (
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// few is how many messages a transaction adds to an inbox without a lock. What is under
	// way at the moment in which an inbox becomes crowded may go so far beyond a share.
	few = 64
	// crowded is above how many messages an inbox is looked at sender by sender, whatever is
	// added: below it, a few messages use up nobody's share.
	crowded = MaxFromOne / 2
)

// room is how many messages crowded inboxes hold of each sender; the server is ids.Nil.
type room map[string]map[ids.ID]int

// others returns how much an inbox holds of all but the server.
func (r room) others(inbox string) (n int) {
	for from, held := range r[inbox] {
		if from != ids.Nil {
			n += held
		}
	}
	return n
}

// take counts one more message of a sender. It refuses one that would be beyond the share
// of its sender, or beyond what an inbox holds; the server always has space.
func (r room) take(inbox string, from ids.ID, name string) error {
	held, counts := r[inbox]
	switch {
	case !counts:
		return nil
	case from == ids.Nil:
	case held[from] >= MaxFromOne:
		return fault.New(fault.TooMany, "The inbox of %s holds %d messages of yours, the share of one sender. "+
			"Send again when some were acknowledged.", name, held[from]).With("retry_after", retryFull)
	case r.others(inbox) >= MaxInbox:
		return fault.New(fault.TooMany, "The inbox of %s holds %d messages already. Send again when some were acknowledged.",
			name, MaxInbox).With("retry_after", retryFull)
	}
	held[from]++
	return nil
}

// takeAll is take for a message that goes to several inboxes. It gives those that have space,
// and the refusal of one that has none.
func (r room) takeAll(inboxes []string, from ids.ID, name string) (free []string, full error) {
	for _, inbox := range inboxes {
		if err := r.take(inbox, from, name); err != nil {
			full = err
			continue
		}
		free = append(free, inbox)
	}
	return free, full
}

// giveBack takes back what was counted of a sender.
func (r room) giveBack(inboxes []string, from ids.ID) {
	for _, inbox := range inboxes {
		if held, counts := r[inbox]; counts {
			held[from]--
		}
	}
}

// findRoom leaves out or refuses what inboxes have no space for, and frees space for the
// notices of the server.
func (p *publishing) findRoom() error {
	adds := map[string]int{}
	for _, c := range p.calls {
		for _, inboxes := range c.targets {
			for _, inbox := range inboxes {
				adds[inbox]++
			}
		}
	}
	r, err := crowdedTx(p.ctx, p.tx, p.workspace, adds)
	if err != nil || len(r) == 0 {
		return err
	}
	p.each(func(c *addressed) error { return c.fit(r) })
	return r.dropNotices(p)
}

// fit counts the messages of a call, or refuses all of them. What is for all leaves out the
// inboxes that have no space, unless none has.
func (c *addressed) fit(r room) error {
	from := sender(c.Req.who).ID
	var taken []string
	for _, n := range c.Req.list {
		free, full := r.takeAll(c.targets[n.ID], from, n.To.Name)
		taken = append(taken, free...)
		if full != nil && (n.To.Kind != ToAll || len(free) == 0) {
			r.giveBack(taken, from)
			return full
		}
		c.targets[n.ID] = free
	}
	return nil
}

// dropNotices takes the oldest notices out of inboxes that hold more than MaxInbox of them.
func (r room) dropNotices(p *publishing) error {
	for inbox, held := range r {
		if over := held[ids.Nil] - MaxInbox; over > 0 {
			if err := q.NoticesDrop(p.ctx, p.tx, p.workspace, inbox, over); err != nil {
				return err
			}
		}
	}
	return nil
}
