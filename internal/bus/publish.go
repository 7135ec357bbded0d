package bus

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Sent is what became of a message.
type Sent struct {
	Message

	New bool // it was not there before
}

// sharedMost is how many messages of one call are written together with those of others; a
// longer list has a transaction of its own.
const sharedMost = 15

// Publish sends messages, all or none, and gives them with their positions. One whose id
// is known is not sent again. A payload that is larger than a message carries is kept as a
// blob, which the message names.
//
// Faults: Validation; Forbidden for an addressee that who may not write to, and for a job
// outside an agent's scope; IdempotencyKeyReused for another message under a known id;
// TooMany where an inbox is full, or the workspace's share is; StorageFull where a large
// payload finds no space.
func (s *Service) Publish(ctx context.Context, who tenancy.Principal, list ...Draft) ([]Sent, error) {
	return s.PublishOnce(ctx, who, nil, list...)
}

// PublishOnce is Publish for a request that may be sent again; it gives the messages that
// were sent then. IdempotencyKeyReused also for another request with the key.
func (s *Service) PublishOnce(ctx context.Context, who tenancy.Principal, once *idempotency.Key, list ...Draft) ([]Sent, error) {
	call, err := newSending(who, list)
	if err != nil {
		return nil, err
	}
	call.once = once
	if call.list, err = call.moveLarge(ctx, s); err != nil {
		return nil, err
	}
	if !call.alone() {
		return s.sends.Do(ctx, who.Workspace, call)
	}
	leave, err := s.longLists.enter(ctx, who.Workspace)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.sends.Alone(ctx, who.Workspace, call)
}

// sending is what one call sends.
type sending struct {
	who  tenancy.Principal
	list []Draft
	// named are the ids that the caller gave: only those may be known already.
	named []ids.ID
	// drop leaves out inboxes that are full or gone, where others are refused; silent are
	// kinds of addressees of whom nobody is there.
	drop   bool
	silent map[Kind]bool
	once   *idempotency.Key // nil where the request is not sent again
}

// newSending checks messages and gives those an id that have none.
func newSending(who tenancy.Principal, list []Draft) (sending, error) {
	call := sending{who: who, list: list}
	if len(list) == 0 || len(list) > MaxBatch {
		return call, fault.Invalid("messages", "There must be 1 to %d.", MaxBatch)
	}
	seen := map[ids.ID]bool{}
	for i := range list {
		n := &list[i]
		if err := n.check(); err != nil {
			return call, InBatch(err, i, len(list))
		}
		if err := checkType(who, n.Type); err != nil {
			return call, InBatch(err, i, len(list))
		}
		if seen[n.ID] {
			return call, InBatch(fault.Invalid("id", "Another message of the batch has this id."), i, len(list))
		}
		if n.ID == ids.Nil {
			n.ID = ids.New()
			continue
		}
		seen[n.ID], call.named = true, append(call.named, n.ID)
	}
	return call, nil
}

// alone reports whether a call has a transaction of its own: a long list, one that locks
// blobs or is large, and one that may come again.
func (c sending) alone() bool {
	return c.once != nil || len(c.list) > sharedMost || slices.ContainsFunc(c.list, func(n Draft) bool {
		return n.Blob != "" || len(n.Payload) > MaxPayload
	})
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
	in := *f
	in.Fields = fields
	return &in
}
