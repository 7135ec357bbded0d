package api

import (
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// toDraft returns a message as it was sent.
func toDraft(in NewMessage) (bus.Draft, error) {
	d := bus.Draft{Type: in.Type, CorrelationID: value(in.CorrelationID), Job: value(in.Job), Payload: in.Payload, Blob: value(in.Blob),
		ExpiresAt: in.ExpiresAt}
	p := fault.Problems{}
	var ok bool
	if d.ID, ok = parseID(in.ID); !ok {
		p.Add("id", "It must be a UUID.")
	}
	if d.InReplyTo, ok = parseID(in.InReplyTo); !ok {
		p.Add("in_reply_to", "It must be the id of a message.")
	}
	if d.To, ok = parseAddressee(in.To); !ok {
		p.Add("to", "It must name one of agent, role, factory, person and all.")
	}
	return d, p.Err()
}

func parseID(text *string) (ids.ID, bool) {
	if text == nil {
		return ids.Nil, true
	}
	return ids.Parse(*text)
}

// parseAddressee returns the one address that is given; false where it is none or several.
func parseAddressee(in NewMessageAddress) (to bus.Address, ok bool) {
	n := 0
	for kind, name := range map[bus.Kind]*string{bus.ToAgent: in.Agent, bus.ToRole: in.Role, bus.ToFactory: in.Factory,
		bus.ToPerson: in.Person} {
		if name != nil {
			to, n = bus.Address{Kind: kind, Name: *name}, n+1
		}
	}
	if value(in.All) {
		to, n = bus.Address{Kind: bus.ToAll}, n+1
	}
	return to, n == 1
}

func messageModel(m bus.Message) Message {
	out := Message{Seq: m.Seq, ID: m.ID, Type: m.Type, From: addressModel(m.From), To: addressModel(m.To), CorrelationID: m.CorrelationID,
		InReplyTo: idText(m.InReplyTo), Job: m.JobKey, Payload: m.Payload, Blob: m.Blob, At: m.At.UTC(), ExpiresAt: utcOrNil(m.ExpiresAt)}
	if m.Deliveries > 0 {
		out.Deliveries = &m.Deliveries
	}
	return out
}

func addressModel(a bus.Address) MessageAddress {
	return MessageAddress{Kind: MessageAddressKind(a.Kind), Name: a.Name, ID: idText(a.ID)}
}

// idText returns an id as text, empty for none.
func idText(id ids.ID) string {
	if id == ids.Nil {
		return ""
	}
	return id.String()
}

func deadLetterModel(l bus.DeadLetter) DeadLetter {
	return DeadLetter{Message: messageModel(l.Message), Inbox: l.Inbox, Error: l.Error, DeadAt: l.At.UTC()}
}

func archiveModel(a bus.Archive) Archive {
	return Archive{FirstSeq: a.First, LastSeq: a.Last, Messages: a.Messages, Blob: a.Blob.String(), Size: a.Size, At: a.At.UTC()}
}
