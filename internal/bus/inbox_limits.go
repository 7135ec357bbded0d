package bus

import (
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// maxUnlocked is how many messages a transaction adds to an inbox without a lock. Each
	// transaction that runs while an inbox becomes crowded may exceed a share by so many.
	maxUnlocked = 64
	// crowdedAbove is above how many messages the shares of an inbox's senders are checked however
	// few are added: below it, maxUnlocked messages use up nobody's share.
	crowdedAbove = MaxFromOne / 2
)

// senderCounts has how many messages crowded inboxes hold of each sender; the server is ids.Nil.
type senderCounts map[string]map[ids.ID]int

// countOthers returns how many messages an inbox holds of all senders but the server.
func (r senderCounts) countOthers(inbox string) (n int) {
	for from, held := range r[inbox] {
		if from != ids.Nil {
			n += held
		}
	}
	return n
}

// add counts one more message of a sender. It refuses a message beyond the share of its sender, or
// beyond the limit of the inbox; the server's are never refused.
func (r senderCounts) add(inbox string, from ids.ID, name string) error {
	held, counts := r[inbox]
	switch {
	case !counts:
		return nil
	case from == ids.Nil:
	case held[from] >= MaxFromOne:
		return fault.New(fault.TooMany, "The inbox of %s holds %d messages of yours, the share of one sender. "+
			"Send again when some were acknowledged.", name, held[from]).With("retry_after", retryFull)
	case r.countOthers(inbox) >= MaxInbox:
		return fault.New(fault.TooMany, "The inbox of %s holds %d messages already. Send again when some were acknowledged.",
			name, MaxInbox).With("retry_after", retryFull)
	}
	held[from]++
	return nil
}

// addToAll is add for a message that goes to several inboxes. It returns the inboxes that have
// space, and the refusal of one that has none.
func (r senderCounts) addToAll(inboxes []string, from ids.ID, name string) (free []string, full error) {
	for _, inbox := range inboxes {
		if err := r.add(inbox, from, name); err != nil {
			full = err
			continue
		}
		free = append(free, inbox)
	}
	return free, full
}

// subtract undoes add for each of the inboxes.
func (r senderCounts) subtract(inboxes []string, from ids.ID) {
	for _, inbox := range inboxes {
		if held, counts := r[inbox]; counts {
			held[from]--
		}
	}
}

// limitInboxes refuses messages that inboxes have no space for, or leaves out those inboxes, and
// frees space for the server's notices.
func (p *publishing) limitInboxes() error {
	adds := map[string]int{}
	for _, c := range p.calls {
		for _, inboxes := range c.targets {
			for _, inbox := range inboxes {
				adds[inbox]++
			}
		}
	}
	r, err := crowdedInboxesTx(p.ctx, p.tx, p.workspace, adds)
	if err != nil || len(r) == 0 {
		return err
	}
	p.forEachCall(func(c *addressedCall) error { return c.countCall(r) })
	return r.dropNotices(p)
}

// countCall counts the messages of a call, or refuses all of them. A message to all agents leaves
// out the inboxes that have no space, unless none has.
func (c *addressedCall) countCall(r senderCounts) error {
	from := sender(c.Req.who).ID
	var taken []string
	for _, n := range c.Req.list {
		free, full := r.addToAll(c.targets[n.ID], from, n.To.Name)
		taken = append(taken, free...)
		if full != nil && (n.To.Kind != ToAll || len(free) == 0) {
			r.subtract(taken, from)
			return full
		}
		c.targets[n.ID] = free
	}
	return nil
}

// dropNotices removes the oldest notices from inboxes that hold more than MaxInbox of them.
func (r senderCounts) dropNotices(p *publishing) error {
	for inbox, held := range r {
		if over := held[ids.Nil] - MaxInbox; over > 0 {
			if err := q.NoticesDrop(p.ctx, p.tx, p.workspace, inbox, over); err != nil {
				return err
			}
		}
	}
	return nil
}
