package bus

import (
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// reach is the products whose messages somebody may read: these, or all unless limited.
type reach struct {
	limited  bool
	products []ids.ID
}

// subject is what a message is about: a product or, where it is about none, the products of its
// sender's token. senders is nil where the sender's token is not limited.
type subject struct {
	product ids.ID
	senders []ids.ID
}

// covers reports whether the reach includes messages about the subject.
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

// findSubject finds what a message is about, by what it refers to: its job, its thread, and the
// message that it answers, in this order.
//
// Faults: Forbidden for references that the sender's token does not reach; Validation for
// references to nothing, and for the answer to a message that an agent may not read.
func (p *publishing) findSubject(who tenancy.Principal, n Draft) (s subject, err error) {
	by := p.directory.readers[who.Agent]
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
		job, ok := p.directory.jobs[n.Job]
		if !ok {
			return s, fault.Invalid("job", "There is no job %s in this workspace.", n.Job)
		}
		if err := add("job", "job", subject{product: job.productID}); err != nil {
			return s, err
		}
	}
	if about, ok := p.directory.threadSubject(n.CorrelationID); ok {
		if err := add("correlation_id", "thread", about); err != nil {
			return s, err
		}
	}
	if n.InReplyTo != ids.Nil {
		answered, ok := p.directory.answered[n.InReplyTo]
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

// threadSubject returns what a thread is about: the product of the job whose key is its name, or
// else the product of its first message. False where neither is known.
func (d *directory) threadSubject(name string) (subject, bool) {
	if job, ok := d.jobs[name]; ok {
		return subject{product: job.productID}, true
	}
	product, ok := d.threadProducts[name]
	return subject{product: product}, ok
}

// mayReach refuses a message of an agent with a limited token to an agent that may not read it.
// Messages of others that an agent may not read stay out of its inbox.
func (d *directory) mayReach(who tenancy.Principal, to Address, about subject) error {
	if to.Kind == ToAgent && d.readers[who.Agent].limited && !d.reach[inboxName(to)].covers(about) {
		return fault.New(fault.Forbidden, "The token of %s reaches no product of %s.", who.Name, to.Name).With("field", "to.agent")
	}
	return nil
}

// inScope returns the inboxes whose agents may read about a subject. Readers of a shared inbox get
// only what each may read.
func (d *directory) inScope(inboxes []string, s subject) []string {
	return slices.DeleteFunc(inboxes, func(inbox string) bool { return !d.reach[inbox].covers(s) })
}
