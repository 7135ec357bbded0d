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
// has transactions of its own. What was said before under a known id is not stored again.
//
// Faults: Validation where messages name no blobs; Forbidden; those of blobs.Service.Keep.
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
	known, held, err := c.beforeMoving(ctx, s, large)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	for _, i := range large {
		n := &list[i]
		if _, there := known[n.ID]; there {
			continue
		}
		said := n.digest()
		kept, err := s.blobs.Keep(ctx, who, bytes.NewReader(held.Redactor(who.Agent).JSON(n.Payload)))
		if err != nil {
			return nil, InBatch(noRoom(err), i, len(list))
		}
		n.said, n.Payload, n.Blob = said, nil, kept.Sum.String()
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

// beforeMoving reads which of the large messages were sent already, and what their sender
// must not reveal.
func (c sending) beforeMoving(ctx context.Context, s *Service, large []int) (known map[ids.ID]knownMessage, held secrets.Held, err error) {
	who := c.who
	wanted := make([]ids.ID, 0, len(large))
	for _, i := range large {
		wanted = append(wanted, c.list[i].ID)
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if known, err = knownTx(ctx, tx, who.Workspace, wanted); err != nil || who.Kind != tenancy.KindAgent {
			return err
		}
		held, err = s.secrets.HeldTx(ctx, tx, who.Workspace, secrets.Holders{Agents: []ids.ID{who.Agent}})
		return err
	})
	return known, held, err
}

// noRoom says at the payload that the workspace's blobs have no space for it; other errors
// stay.
func noRoom(err error) error {
	if !fault.Is(err, fault.StorageFull) {
		return err
	}
	full := *fault.From(err)
	full.Fields = map[string]string{"payload": "It is larger than a message carries, and there is no room for it as a blob."}
	return &full
}
