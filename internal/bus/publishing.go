package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxWritten is how many messages one transaction writes: their numbers have ten bits.
	maxWritten = 1<<seqBits - 1
	// retryFull is how many seconds a sender waits for a full inbox.
	retryFull = 5
)

// errOvertaken says that somebody else wrote a message with the same id meanwhile.
var errOvertaken = errors.New("bus: a message was written by somebody else meanwhile")

type sendItem = batch.Item[sending, []Sent]

// publishing is the calls of a workspace that are written in one transaction.
type publishing struct {
	ctx       context.Context // lives as long as the transaction
	tx        db.Tx
	s         *Service
	workspace ids.ID
	calls     []*addressed

	names   directory
	held    secrets.Held
	inboxes []string // that got something
	written int
}

// addressed is one call with what is written of it.
type addressed struct {
	*sendItem

	rows    []row
	targets map[ids.ID][]string // inboxes by message
}

// execSends writes the messages of several calls.
func (s *Service) execSends(ctx context.Context, tx db.Tx, workspace ids.ID, items []*sendItem) (func(), error) {
	p := &publishing{ctx: ctx, tx: tx, s: s, workspace: workspace}
	run := p.run
	if items[0].Req.once != nil {
		run = p.runOnce
	}
	if err := run(items...); err != nil {
		return nil, err
	}
	if p.written == 0 {
		return nil, batch.ErrNothingWritten
	}
	return func() { s.tell(workspace, p.inboxes) }, nil
}

// run writes what can be written of the calls. An error is that of all of them.
func (p *publishing) run(items ...*sendItem) (err error) {
	p.choose(items)
	if p.names, p.held, err = p.lookUp(); err != nil {
		return err
	}
	p.each(p.address)
	if err := p.findRoom(); err != nil {
		return err
	}
	places, err := p.write()
	if errors.Is(err, errOvertaken) && len(p.calls) == 1 {
		err = p.compare(p.calls[0], places)
	}
	if err != nil {
		return err
	}
	if err := p.refer(places); err != nil {
		return err
	}
	p.each(func(c *addressed) error { return p.answer(c, places) })
	return nil
}

// runOnce is run for the only call, which may have been carried out before.
func (p *publishing) runOnce(items ...*sendItem) error {
	call := items[0]
	sent, err := idempotency.OnceTx(p.ctx, p.tx, call.Req.who, call.Req.once, func() ([]ids.ID, error) {
		if err := cmp.Or(p.run(call), call.Err); err != nil {
			return nil, err
		}
		sent := make([]ids.ID, len(call.Res))
		for i, m := range call.Res {
			sent[i] = m.ID
		}
		return sent, nil
	})
	if err != nil || !call.Req.once.Replayed() {
		return err
	}
	known, err := knownTx(p.ctx, p.tx, p.workspace, sent)
	call.Res = make([]Sent, len(sent))
	for i, id := range sent {
		call.Res[i].Message = known[id].Message
	}
	return err
}

// each does something for each call in which nothing was wrong so far.
func (p *publishing) each(do func(c *addressed) error) {
	for _, c := range p.calls {
		if c.Err == nil {
			c.Err = do(c)
		}
	}
}

// choose takes the calls that one transaction can write; those that do not fit, or name
// a message which another one names too, are run alone.
func (p *publishing) choose(items []*sendItem) {
	seen, total := map[ids.ID]bool{}, 0
	for _, i := range items {
		if total+len(i.Req.list) > maxWritten || slices.ContainsFunc(i.Req.named, func(id ids.ID) bool { return seen[id] }) {
			i.Retry()
			continue
		}
		for _, id := range i.Req.named {
			seen[id] = true
		}
		total += len(i.Req.list)
		p.calls = append(p.calls, &addressed{sendItem: i, targets: map[ids.ID][]string{}})
	}
}

// address finds out whom the messages of a call are for, and what is written of them. What
// is known already is compared and left out.
func (p *publishing) address(c *addressed) error {
	if who := c.Req.who; who.Kind == tenancy.KindAgent {
		if err := p.names.readers[who.Agent].answersTo(who); err != nil {
			return err
		}
	}
	for i, n := range c.Req.list {
		if old, known := p.names.known[n.ID]; known {
			if old.digest != n.digest() {
				return reused(n.ID)
			}
			continue
		}
		r, inboxes, err := p.addressOne(c.Req, n)
		if err != nil {
			return InBatch(err, i, len(c.Req.list))
		}
		c.rows, c.targets[r.ID] = append(c.rows, r), inboxes
	}
	return nil
}

func (p *publishing) addressOne(call sending, n Draft) (row, []string, error) {
	who := call.who
	to, inboxes, err := p.names.resolve(n.To)
	if err != nil && !call.drop {
		return row{}, nil, err
	}
	if err := mayAddress(who, p.names.readers[who.Agent].roles, to); err != nil {
		return row{}, nil, err
	}
	about, err := p.findSubject(who, n)
	if err != nil {
		return row{}, nil, err
	}
	if err := p.names.mayReach(who, to, about); err != nil {
		return row{}, nil, err
	}
	red := p.held.Redactor(who.Agent)
	if err := n.namesNone(red); err != nil {
		return row{}, nil, err
	}
	from := sender(who)
	r := row{ID: n.ID, Type: n.Type, FromKind: from.Kind, FromID: orNull(from.ID), FromName: from.Name, ToKind: to.Kind,
		ToID: orNull(to.ID), ToName: to.Name, InReplyTo: orNull(n.InReplyTo), Payload: red.JSON(n.Payload),
		Blob: orNone(n.Blob), Digest: n.digest(), ExpiresAt: n.ExpiresAt, ProductID: orNull(about.product), Senders: about.senders}
	if n.Job != "" {
		job := p.names.jobs[n.Job]
		r.JobID, r.key = &job.id, job.key
	}
	r.CorrelationID = p.thread(n, r)
	if call.silent[n.To.Kind] {
		inboxes = nil
	}
	return r, p.names.inScope(inboxes, about), nil
}

// namesNone refuses a secret in what names something: it cannot be another name.
func (n Draft) namesNone(red *redact.Redactor) error {
	if red == nil {
		return nil
	}
	p := fault.Problems{}
	for field, name := range map[string]string{"type": n.Type, "to": n.To.Name, "correlation_id": n.CorrelationID} {
		if red.Text(name) != name {
			p.Add(field, "It must hold no secret of a job that the agent works on.")
		}
	}
	return p.Err()
}

// thread returns the name of a message's thread.
func (p *publishing) thread(n Draft, r row) string {
	switch {
	case n.CorrelationID != "":
		return n.CorrelationID
	case n.InReplyTo != ids.Nil:
		return p.names.answered[n.InReplyTo].CorrelationID
	case r.key != "":
		return r.key
	}
	return n.ID.String()
}

// write inserts the messages of the calls that are good, and puts them into inboxes.
func (p *publishing) write() (map[ids.ID]place, error) {
	var rows []row
	var d deliveries
	for _, c := range p.calls {
		if c.Err != nil {
			continue
		}
		for _, r := range c.rows {
			r.N = len(rows) + 1
			rows = append(rows, r)
			for _, inbox := range c.targets[r.ID] {
				d.add(inbox, r)
			}
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode messages: %w", err)
	}
	places, err := writeTx(p.ctx, p.tx, p.workspace, raw, d)
	if err == nil && len(places) < len(rows) {
		err = errOvertaken
	}
	slices.Sort(d.inboxes)
	p.inboxes, p.written = slices.Compact(d.inboxes), len(places)
	return places, err
}

// compare looks again at what the only call did not write, since somebody else has
// meanwhile.
func (p *publishing) compare(c *addressed, places map[ids.ID]place) error {
	known, err := knownTx(p.ctx, p.tx, p.workspace, c.Req.named)
	if err != nil {
		return err
	}
	for _, r := range c.rows {
		if _, fresh := places[r.ID]; fresh {
			continue
		}
		if known[r.ID].digest != r.Digest {
			return reused(r.ID)
		}
		p.names.known[r.ID] = known[r.ID]
	}
	return nil
}

func reused(id ids.ID) error {
	return fault.New(fault.IdempotencyKeyReused, "Another message was sent under the id %s.", id)
}

// refer has the new messages name their blobs.
func (p *publishing) refer(places map[ids.ID]place) error {
	for _, c := range p.calls {
		for i, n := range c.Req.list {
			if _, fresh := places[n.ID]; !fresh || n.Blob == "" {
				continue
			}
			if err := p.referOne(c.Req, n); err != nil {
				return InBatch(err, i, len(c.Req.list))
			}
		}
	}
	return nil
}

func (p *publishing) referOne(call sending, n Draft) error {
	sum, err := blobs.ParseSum(n.Blob)
	if err == nil && p.s.blobs != nil {
		err = p.s.blobs.ReferTx(p.ctx, p.tx, call.who, sum, blobs.Ref{Message: n.ID})
	}
	if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Validation) {
		return err
	}
	if err != nil || p.s.blobs == nil {
		return fault.Invalid("blob", "There is no such blob in this workspace.")
	}
	return nil
}

// answer sets the sender's result: what it sent, and of what was there what it was.
func (p *publishing) answer(c *addressed, places map[ids.ID]place) error {
	rows := map[ids.ID]row{}
	for _, r := range c.rows {
		rows[r.ID] = r
	}
	for _, n := range c.Req.list {
		if old, known := p.names.known[n.ID]; known {
			c.Res = append(c.Res, Sent{Message: old.Message})
			continue
		}
		c.Res = append(c.Res, Sent{Message: rows[n.ID].message(places[n.ID]), New: true})
	}
	return nil
}
