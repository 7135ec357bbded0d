package api

import (
	"time"

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

// Message is a message on the wire.
type Message struct {
	bus.Message
	From      MessageAddress `json:"from"`
	To        MessageAddress `json:"to"`
	InReplyTo string         `json:"in_reply_to"`
}

type (
	// Archive is messages that were dropped.
	Archive = bus.Archive
	// ArchiveList is archives.
	ArchiveList = whole[Archive]
	// DeadLetter is a message that an inbox gave up.
	DeadLetter struct {
		Message Message   `json:"message"`
		Inbox   string    `json:"inbox"`
		Error   string    `json:"error"`
		DeadAt  time.Time `json:"dead_at"`
	}
	// DeadLetterList is dead letters.
	DeadLetterList = whole[DeadLetter]
	// MessageList is messages.
	MessageList = whole[Message]
	// Inbox is messages, and the position behind them.
	Inbox struct {
		Items     []Message `json:"items"`
		NextAfter int64     `json:"next_after"`
	}
	// FoundMessage is a message that a search found.
	FoundMessage struct {
		Message Message `json:"message"`
		Passage string  `json:"passage"`
	}
	// FoundMessages are the messages that a search found.
	FoundMessages = whole[FoundMessage]
	// ExportLine is a message or an event of an export.
	ExportLine struct {
		Position string   `json:"position"`
		Message  *Message `json:"message,omitempty"`
		Event    *Event   `json:"event,omitempty"`
	}
	// ExportPage is a part of an export.
	ExportPage struct {
		Items    []ExportLine `json:"items"`
		Position string       `json:"position"`
	}
)

func messageModel(m bus.Message) Message {
	return Message{Message: m, From: addressModel(m.From), To: addressModel(m.To), InReplyTo: idText(m.InReplyTo)}
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
	return DeadLetter{Message: messageModel(l.Message), Inbox: l.Inbox, Error: l.Error, DeadAt: l.At}
}
