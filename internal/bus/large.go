package bus

import (
	"bytes"
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// moveLarge stores each payload that is larger than a message carries as a blob, without
// the values that its sender must not reveal, and returns the messages with the names of the
// blobs instead. It comes before the transaction that writes the messages, since an upload
// has transactions of its own. A message that was sent before is not stored again.
//
// Faults: Validation where messages cannot have blobs; Forbidden; and the faults of
// blobs.Service.Keep.
func (c sending) moveLarge(ctx context.Context, s *Service) ([]Draft, error) {
	who, list := c.who, c.list
	large := findLarge(list)
	switch {
	case len(large) == 0:
		return list, nil
	case s.blobs == nil:
		return nil, InBatch(fault.Invalid("payload", "It must have at most %d bytes.", MaxPayload), large[0], len(list))
	case !who.Can(tenancy.SendMessages):
		return nil, mayNotSend()
	}
	known, held, err := c.readBeforeMoving(ctx, s, large)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	for _, i := range large {
		n := &list[i]
		if _, there := known[n.ID]; there {
			continue
		}
		digest := n.digest()
		blob, err := s.blobs.Keep(ctx, who, bytes.NewReader(held.Redactor(who.Agent).JSON(n.Payload)))
		if err != nil {
			return nil, InBatch(noSpaceForBlob(err), i, len(list))
		}
		n.originalDigest = digest
		n.Payload = nil
		n.Blob = blob.Sum.String()
	}
	return list, nil
}

// findLarge returns the places of messages whose payload is larger than they carry.
func findLarge(list []Draft) (large []int) {
	for i, n := range list {
		if len(n.Payload) > MaxPayload {
			large = append(large, i)
		}
	}
	return large
}

// readBeforeMoving reads which of the large messages were sent already, and the secrets that their
// sender must not reveal.
func (c sending) readBeforeMoving(ctx context.Context, s *Service, large []int) (
	known map[ids.ID]knownMessage, held secrets.Held, err error,
) {
	who := c.who
	messages := make([]ids.ID, 0, len(large))
	for _, i := range large {
		messages = append(messages, c.list[i].ID)
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if known, err = knownTx(ctx, tx, who.Workspace, messages); err != nil || who.Kind != tenancy.KindAgent {
			return err
		}
		held, err = s.secrets.HeldTx(ctx, tx, who.Workspace, secrets.Holders{Agents: []ids.ID{who.Agent}})
		return err
	})
	return known, held, err
}

// noSpaceForBlob returns StorageFull as a problem of the payload, and other errors as they are.
func noSpaceForBlob(err error) error {
	if !fault.Is(err, fault.StorageFull) {
		return err
	}
	full := *fault.From(err)
	full.Fields = map[string]string{"payload": "It is larger than a message carries, and there is no room for it as a blob."}
	return &full
}
