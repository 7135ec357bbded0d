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

// Sent is the result for one message.
type Sent struct {
	Message

	New bool // it was not sent before
}

// maxTogether is the longest list of one call that is written in one transaction with other calls.
const maxTogether = 15

// Publish sends messages, all or none, and returns them with their positions. A message whose id
// is known is not sent again. A payload larger than MaxPayload is stored as a blob, to which
// the message refers.
//
// Faults: Validation; Forbidden for an addressee that who may not write to, and for a job
// outside an agent's scope; IdempotencyKeyReused for another message under a known id;
// TooMany where an inbox is full, or the workspace has too many calls under way; StorageFull
// where there is no space for a large payload.
func (s *Service) Publish(ctx context.Context, who tenancy.Principal, list ...Draft) ([]Sent, error) {
	return s.PublishOnce(ctx, who, nil, list...)
}

// PublishOnce is Publish for a request that may be sent again; then it returns the messages that
// the first one sent. Fault: IdempotencyKeyReused also for another request with the key.
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
	// named are the ids that the caller chose: only those may be known already.
	named []ids.ID
	// drop leaves out inboxes that are full or gone instead of refusing the call; unheard are
	// kinds of addressees that have no reader.
	drop    bool
	unheard map[Kind]bool
	once    *idempotency.Key // nil where the request is not sent again
}

// newSending checks messages, and sets the ids of those that have none.
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
		seen[n.ID] = true
		call.named = append(call.named, n.ID)
	}
	return call, nil
}

// alone reports whether a call has a transaction of its own: for a long list, for one with blobs
// or large payloads, and for a request that may be sent again.
func (c sending) alone() bool {
	return c.once != nil || len(c.list) > maxTogether || slices.ContainsFunc(c.list, func(n Draft) bool {
		return n.Blob != "" || len(n.Payload) > MaxPayload
	})
}

// InBatch returns the error of message i with the message's place in the names of its fields,
// unless the call has that message only.
func InBatch(err error, i, count int) error {
	f := fault.From(err)
	if count == 1 || f == nil || len(f.Fields) == 0 {
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
