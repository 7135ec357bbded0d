package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/internal/blobs"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs/secrets"
	"fleetboard/internal/redact"
	"fleetboard/internal/tenancy"
)

// Sent is what became of a message.
type Sent struct {
	Message

	New bool // it was not there before
}

// Publish sends messages, all or none, and gives them with their positions. One whose id
// is known is not sent again.
//
// Faults: Validation; Forbidden for an addressee that who may not write to, and for a job
// outside an agent's scope; IdempotencyKeyReused for another message under a known id;
// TooMany where an inbox is full.
func (s *Service) Publish(ctx context.Context, who tenancy.Principal, list ...Draft) ([]Sent, error) {
	if len(list) == 0 || len(list) > MaxBatch {
		return nil, fault.Invalid("messages", "There must be 1 to %d.", MaxBatch)
	}
	seen := map[ids.ID]bool{}
	for i := range list {
		n := &list[i]
		if err := n.check(); err != nil {
			return nil, InBatch(err, i, len(list))
		}
		if err := checkType(who, n.Type); err != nil {
			return nil, InBatch(err, i, len(list))
		}
		if n.ID == ids.Nil {
			n.ID = ids.New()
		}
		if seen[n.ID] {
			return nil, InBatch(fault.Invalid("id", "Another message of the batch has this id."), i, len(list))
		}
		seen[n.ID] = true
	}
	p := &publishing{ctx: ctx, s: s, who: who, list: list}
	if err := s.db.InWorkspace(ctx, who.Workspace, p.run); err != nil {
		return nil, err
	}
	if len(p.inboxes) > 0 {
		s.tell(who.Workspace, p.inboxes)
	} else if p.wrote {
		s.tell(who.Workspace, nil)
	}
	return p.sent, nil
}

// InBatch names the place of a message of which something is wrong.
func InBatch(err error, i, of int) error {
	f := fault.From(err)
	if of == 1 || f == nil || len(f.Fields) == 0 {
		return err
	}
	fields := map[string]string{}
	for name, what := range f.Fields {
		fields[fmt.Sprintf("messages[%d].%s", i, name)] = what
	}
	return fault.InvalidFields(fields)
}

// publishing is one call inside its transaction.
type publishing struct {
	ctx  context.Context //nolint:containedctx // lives as long as the call
	s    *Service
	who  tenancy.Principal
	list []Draft
	// drop leaves out inboxes that are full or gone, where others are refused; silent are
	// kinds of addressees of whom nobody is there.
	drop   bool
	silent map[Kind]bool

	names   directory
	sent    []Sent
	inboxes []string
	wrote   bool
}

func (p *publishing) run(tx db.Tx) error {
	p.sent, p.inboxes, p.wrote = nil, nil, false
	var held secrets.Held
	names, err := lookUp(p.ctx, tx, p.who, p.list, func(tx db.Tx) (err error) {
		if p.who.Kind == tenancy.KindAgent {
			held, err = p.s.secrets.HeldTx(p.ctx, tx, p.who.Workspace, secrets.Holders{Agents: []ids.ID{p.who.Agent}})
		}
		return err
	})
	if err != nil {
		return err
	}
	p.names = names
	rows, targets := make([]row, 0, len(p.list)), map[ids.ID][]string{}
	for i, n := range p.list {
		r, inboxes, err := p.address(n, held.Redactor(p.who.Agent))
		if err != nil {
			return InBatch(err, i, len(p.list))
		}
		r.N = i + 1
		rows, targets[r.ID] = append(rows, r), inboxes
	}
	if err := p.refuseFull(tx, targets); err != nil {
		return err
	}
	return p.write(tx, rows, targets)
}

// address finds out whom a message is for, and what is written of it.
func (p *publishing) address(n Draft, red *redact.Redactor) (row, []string, error) {
	to, inboxes, err := p.names.resolve(n.To)
	if err != nil && !p.drop {
		return row{}, nil, err
	}
	if err := mayAddress(p.who, p.names.reader.roles, to); err != nil {
		return row{}, nil, err
	}
	from, digest := sender(p.who), n.digest()
	r := row{ID: n.ID, Type: n.Type, FromKind: from.Kind, FromID: orNull(from.ID), FromName: from.Name, ToKind: to.Kind,
		ToID: orNull(to.ID), ToName: to.Name, InReplyTo: orNull(n.InReplyTo), Payload: red.JSON(n.Payload), Blob: orNone(n.Blob),
		Digest:    fmt.Sprintf("%x", digest),
		ExpiresAt: n.ExpiresAt}
	if n.Job != "" {
		job, ok := p.names.jobs[n.Job]
		if !ok {
			return row{}, nil, fault.Invalid("job", "There is no job %s in this workspace.", n.Job)
		}
		if scope := p.who.Scope.Products; len(scope) > 0 && !slices.Contains(scope, job.product) {
			return row{}, nil, fault.New(fault.Forbidden, "The token of %s does not reach the product %s.", p.who.Name, job.product)
		}
		r.JobID, r.ProductID, r.key = &job.id, &job.productID, job.key
		inboxes = p.names.inScope(inboxes, job.product)
	}
	r.CorrelationID, err = p.thread(n, r)
	if p.silent[n.To.Kind] {
		inboxes = nil
	}
	return r, inboxes, err
}

// thread is the name of a message's thread.
func (p *publishing) thread(n Draft, r row) (string, error) {
	if n.InReplyTo != ids.Nil {
		name, ok := p.names.threads[n.InReplyTo]
		if !ok {
			return "", fault.Invalid("in_reply_to", "There is no such message in this workspace.")
		}
		if n.CorrelationID == "" {
			return name, nil
		}
	}
	switch {
	case n.CorrelationID != "":
		return n.CorrelationID, nil
	case r.key != "":
		return r.key, nil
	}
	return n.ID.String(), nil
}

// refuseFull refuses messages for inboxes that hold as much as they may; what is for all,
// or comes from the server, leaves those out.
func (p *publishing) refuseFull(tx db.Tx, targets map[ids.ID][]string) error {
	var all []string
	for _, inboxes := range targets {
		all = append(all, inboxes...)
	}
	slices.Sort(all)
	full, err := fullInboxes(p.ctx, tx, p.who.Workspace, slices.Compact(all))
	if err != nil || len(full) == 0 {
		return err
	}
	for _, n := range p.list {
		left := slices.DeleteFunc(targets[n.ID], func(inbox string) bool { return slices.Contains(full, inbox) })
		if len(left) < len(targets[n.ID]) && n.To.Kind != ToAll && !p.drop {
			return fault.New(fault.TooMany, "The inbox of %s holds %d messages already. Send again when some were acknowledged.",
				n.To.Name, MaxInbox).With("retry_after", retryFull)
		}
		targets[n.ID] = left
	}
	return nil
}

// retryFull is how many seconds a sender waits for a full inbox.
const retryFull = 5

// write inserts what is new, puts it into inboxes, and compares what was there.
func (p *publishing) write(tx db.Tx, rows []row, targets map[ids.ID][]string) error {
	raw, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	places, err := insertTx(p.ctx, tx, p.who.Workspace, raw)
	if err != nil {
		return err
	}
	var inboxes []string
	var seqs []int64
	var known []ids.ID
	for _, r := range rows {
		place, fresh := places[r.ID]
		if !fresh {
			known = append(known, r.ID)
			continue
		}
		p.wrote = true
		for _, inbox := range targets[r.ID] {
			inboxes, seqs = append(inboxes, inbox), append(seqs, place.seq)
		}
	}
	if err := p.refer(tx, rows, places); err != nil {
		return err
	}
	if err := deliverTx(p.ctx, tx, p.who.Workspace, inboxes, seqs); err != nil {
		return err
	}
	slices.Sort(inboxes)
	p.inboxes = slices.Compact(inboxes)
	if err := p.compare(tx, rows, known); err != nil {
		return err
	}
	return p.answer(tx, rows, places)
}

// refer has the new messages name their blobs.
func (p *publishing) refer(tx db.Tx, rows []row, places map[ids.ID]place) error {
	for i, r := range rows {
		if _, fresh := places[r.ID]; !fresh || r.Blob == nil {
			continue
		}
		sum, err := blobs.ParseSum(*r.Blob)
		if p.s.blobs == nil || err != nil {
			return InBatch(fault.Invalid("blob", "There is no such blob in this workspace."), i, len(rows))
		}
		err = p.s.blobs.ReferTx(p.ctx, tx, p.who, sum, blobs.Ref{Message: r.ID})
		if fault.Is(err, fault.NotFound) {
			err = InBatch(fault.Invalid("blob", "There is no such blob in this workspace."), i, len(rows))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compare refuses other messages under known ids.
func (p *publishing) compare(tx db.Tx, rows []row, known []ids.ID) error {
	if len(known) == 0 {
		return nil
	}
	digests, err := digestsTx(p.ctx, tx, p.who.Workspace, known)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if said, there := digests[r.ID]; there && slices.Contains(known, r.ID) && said != r.Digest {
			return fault.New(fault.IdempotencyKeyReused, "Another message was sent under the id %s.", r.ID)
		}
	}
	return nil
}

// answer is what the sender hears: what it sent, and of what was there what it was.
func (p *publishing) answer(tx db.Tx, rows []row, places map[ids.ID]place) error {
	for _, r := range rows {
		at, fresh := places[r.ID]
		if !fresh {
			m, err := byIDTx(p.ctx, tx, p.who.Workspace, r.ID)
			if err != nil {
				return err
			}
			p.sent = append(p.sent, Sent{Message: m})
			continue
		}
		p.sent = append(p.sent, Sent{Message: r.message(at), New: true})
	}
	return nil
}
