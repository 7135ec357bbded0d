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
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxWritten is how many messages one transaction writes: their numbers have ten bits.
	maxWritten = 1<<seqBits - 1
	// retryFull is after how many seconds a sender may try a full inbox again.
	retryFull = 5
)

// errWrittenMeanwhile means that somebody else wrote a message with the same id meanwhile.
var errWrittenMeanwhile = errors.New("bus: a message was written by somebody else meanwhile")

type sendItem = batch.Item[sending, []Sent]

// publishing is the calls of a workspace that are written in one transaction.
type publishing struct {
	ctx       context.Context // lives as long as the transaction
	tx        db.Tx
	s         *Service
	workspace ids.ID
	calls     []*addressedCall

	directory   directory
	heldSecrets secrets.Held
	inboxes     []string // that got messages
	written     int
}

// addressedCall is one call with the rows that it writes.
type addressedCall struct {
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
	return func() {
		metrics.MessagesSent.Add(float64(p.written))
		s.notifyReaders(workspace, p.inboxes)
	}, nil
}

// run writes the messages of the calls. The error is one of all of them; each call has its own in
// Err.
func (p *publishing) run(items ...*sendItem) (err error) {
	p.chooseCalls(items)
	if p.directory, p.heldSecrets, err = p.readDirectory(); err != nil {
		return err
	}
	p.forEachCall(p.addressCall)
	if err := p.limitInboxes(); err != nil {
		return err
	}
	places, err := p.write()
	if errors.Is(err, errWrittenMeanwhile) && len(p.calls) == 1 {
		err = p.compareWithKnown(p.calls[0], places)
	}
	if err != nil {
		return err
	}
	if err := p.referToBlobs(places); err != nil {
		return err
	}
	p.forEachCall(func(c *addressedCall) error { return p.setResult(c, places) })
	return nil
}

// runOnce is run for a single call that may have been carried out before.
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

// forEachCall calls do for each call that has not failed so far.
func (p *publishing) forEachCall(do func(c *addressedCall) error) {
	for _, c := range p.calls {
		if c.Err == nil {
			c.Err = do(c)
		}
	}
}

// chooseCalls adds the calls that one transaction can write. The others, which would exceed it or
// have the id of another call's message, are run alone.
func (p *publishing) chooseCalls(items []*sendItem) {
	seen := map[ids.ID]bool{}
	total := 0
	for _, i := range items {
		if total+len(i.Req.list) > maxWritten || slices.ContainsFunc(i.Req.named, func(id ids.ID) bool { return seen[id] }) {
			i.Retry()
			continue
		}
		for _, id := range i.Req.named {
			seen[id] = true
		}
		total += len(i.Req.list)
		p.calls = append(p.calls, &addressedCall{sendItem: i, targets: map[ids.ID][]string{}})
	}
}

// addressCall makes the rows of a call's messages and finds their inboxes. Messages that are known
// already are compared and left out.
func (p *publishing) addressCall(c *addressedCall) error {
	if who := c.Req.who; who.Kind == tenancy.KindAgent {
		if err := p.directory.readers[who.Agent].requireCurrent(who); err != nil {
			return err
		}
	}
	for i, n := range c.Req.list {
		if old, known := p.directory.known[n.ID]; known {
			if old.digest != n.digest() {
				return reused(n.ID)
			}
			continue
		}
		r, inboxes, err := p.addressMessage(c.Req, n)
		if err != nil {
			return InBatch(err, i, len(c.Req.list))
		}
		c.rows = append(c.rows, r)
		c.targets[r.ID] = inboxes
	}
	return nil
}

func (p *publishing) addressMessage(call sending, n Draft) (row, []string, error) {
	who := call.who
	to, inboxes, err := p.directory.resolve(n.To)
	if err != nil && !call.drop {
		return row{}, nil, err
	}
	if err := mayAddress(who, p.directory.readers[who.Agent].roles, to); err != nil {
		return row{}, nil, err
	}
	about, err := p.findSubject(who, n)
	if err != nil {
		return row{}, nil, err
	}
	if err := p.directory.mayReach(who, to, about); err != nil {
		return row{}, nil, err
	}
	red := p.heldSecrets.Redactor(who.Agent)
	if err := n.refuseSecrets(red); err != nil {
		return row{}, nil, err
	}
	from := sender(who)
	r := row{
		ID:        n.ID,
		Type:      n.Type,
		FromKind:  from.Kind,
		FromID:    orNull(from.ID),
		FromName:  from.Name,
		ToKind:    to.Kind,
		ToID:      orNull(to.ID),
		ToName:    to.Name,
		InReplyTo: orNull(n.InReplyTo),
		Payload:   red.JSON(n.Payload),
		Blob:      orNone(n.Blob),
		Digest:    n.digest(),
		ExpiresAt: n.ExpiresAt,
		ProductID: orNull(about.product),
		Senders:   about.senders,
	}
	if n.Job != "" {
		job := p.directory.jobs[n.Job]
		r.JobID = &job.id
		r.key = job.key
	}
	r.CorrelationID = p.threadName(n, r)
	if call.unheard[n.To.Kind] {
		inboxes = nil
	}
	return r, p.directory.inScope(inboxes, about), nil
}

// refuseSecrets refuses secrets in names: replacing them would make another name.
func (n Draft) refuseSecrets(red *redact.Redactor) error {
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

// threadName returns the name of a message's thread.
func (p *publishing) threadName(n Draft, r row) string {
	switch {
	case n.CorrelationID != "":
		return n.CorrelationID
	case n.InReplyTo != ids.Nil:
		return p.directory.answered[n.InReplyTo].CorrelationID
	case r.key != "":
		return r.key
	}
	return n.ID.String()
}

// write inserts the messages of the calls that have not failed, and puts them into inboxes.
func (p *publishing) write() (map[ids.ID]writtenAt, error) {
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
		err = errWrittenMeanwhile
	}
	slices.Sort(d.inboxes)
	p.inboxes = slices.Compact(d.inboxes)
	p.written = len(places)
	return places, err
}

// compareWithKnown reads the messages that the only call did not write, since somebody else has
// written them meanwhile, and compares them.
func (p *publishing) compareWithKnown(c *addressedCall, places map[ids.ID]writtenAt) error {
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
		p.directory.known[r.ID] = known[r.ID]
	}
	return nil
}

func reused(id ids.ID) error {
	return fault.New(fault.IdempotencyKeyReused, "Another message was sent under the id %s.", id)
}

// referToBlobs writes the references of new messages to their blobs.
func (p *publishing) referToBlobs(places map[ids.ID]writtenAt) error {
	for _, c := range p.calls {
		for i, n := range c.Req.list {
			if _, fresh := places[n.ID]; !fresh || n.Blob == "" {
				continue
			}
			if err := p.referToBlob(c.Req, n); err != nil {
				return InBatch(err, i, len(c.Req.list))
			}
		}
	}
	return nil
}

func (p *publishing) referToBlob(call sending, n Draft) error {
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

// setResult sets the result of a call: its messages, those that were sent before as they were.
func (p *publishing) setResult(c *addressedCall, places map[ids.ID]writtenAt) error {
	rows := map[ids.ID]row{}
	for _, r := range c.rows {
		rows[r.ID] = r
	}
	for _, n := range c.Req.list {
		if old, known := p.directory.known[n.ID]; known {
			c.Res = append(c.Res, Sent{Message: old.Message})
			continue
		}
		c.Res = append(c.Res, Sent{Message: rows[n.ID].message(places[n.ID]), New: true})
	}
	return nil
}
