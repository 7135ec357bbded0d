package bus

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// reach is of which products somebody reads: of these, or of all.
type reach struct {
	limited  bool
	products []ids.ID
}

// subject is what a message is about: a product, or, where it is about none, whatever the
// products of its sender's token are. nil senders are those of a sender that is not limited.
type subject struct {
	product ids.ID
	senders []ids.ID
}

// covers reports whether who has the reach may read of the subject.
func (r reach) covers(s subject) bool {
	switch {
	case !r.limited:
		return true
	case s.product != ids.Nil:
		return slices.Contains(r.products, s.product)
	case s.senders != nil:
		return slices.ContainsFunc(s.senders, func(p ids.ID) bool { return slices.Contains(r.products, p) })
	}
	return true
}

func (s subject) isEmpty() bool { return s.product == ids.Nil && s.senders == nil }

// findSubject finds what a message is about, by all that it refers to: its job, its thread,
// and the message that it answers, in this order.
//
// Faults: Forbidden for what the sender's token does not reach; Validation for what there
// is not, and for the answer to a message that an agent may not read.
func (p *publishing) findSubject(who tenancy.Principal, n Draft) (s subject, err error) {
	by := p.names.readers[who.Agent]
	add := func(field, what string, about subject) error {
		if !by.covers(about) {
			return fault.New(fault.Forbidden, "The token of %s does not reach the product of the %s.", who.Name, what).With("field", field)
		}
		if s.isEmpty() {
			s = about
		}
		return nil
	}
	if n.Job != "" {
		job, ok := p.names.jobs[n.Job]
		if !ok {
			return s, fault.Invalid("job", "There is no job %s in this workspace.", n.Job)
		}
		if err := add("job", "job", subject{product: job.productID}); err != nil {
			return s, err
		}
	}
	if about, ok := p.names.threadSubject(n.CorrelationID); ok {
		if err := add("correlation_id", "thread", about); err != nil {
			return s, err
		}
	}
	if n.InReplyTo != ids.Nil {
		answered, ok := p.names.answered[n.InReplyTo]
		if !ok {
			return s, noSuchAnswered()
		}
		if err := add("in_reply_to", "message answered", answered.subject); err != nil {
			return s, err
		}
		if who.Kind == tenancy.KindAgent && len(by.reader(who.Agent).readable([]Message{answered})) == 0 {
			return s, noSuchAnswered()
		}
	}
	if s.product == ids.Nil && by.limited {
		s.senders = by.products
	}
	return s, nil
}

func noSuchAnswered() error {
	return fault.Invalid("in_reply_to", "There is no such message in this workspace.")
}

// threadSubject returns what a thread is about: the product of the job that names it, or else that
// of its first message. False where neither is known.
func (d *directory) threadSubject(name string) (subject, bool) {
	if job, ok := d.jobs[name]; ok {
		return subject{product: job.productID}, true
	}
	product, ok := d.begins[name]
	return subject{product: product}, ok
}

// mayReach refuses what an agent with a limited token says to an agent that reads of none
// of its products. What others say to it stays out of its inbox.
func (d *directory) mayReach(who tenancy.Principal, to Address, about subject) error {
	if to.Kind == ToAgent && d.readers[who.Agent].limited && !d.reach[inboxName(to)].covers(about) {
		return fault.New(fault.Forbidden, "The token of %s reaches no product of %s.", who.Name, to.Name).With("field", "to.agent")
	}
	return nil
}

// inScope leaves of the inboxes those whose agents may read of a subject. Of shared ones
// each reader gets only what it may read.
func (d *directory) inScope(inboxes []string, s subject) []string {
	return slices.DeleteFunc(inboxes, func(inbox string) bool { return !d.reach[inbox].covers(s) })
}
