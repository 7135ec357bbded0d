package eventlog

import (
	"encoding/json"
	"slices"

	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// settings are the types of what happens in settings, as LIKE takes them.
var settings = []string{"workspace.%", "member.%", "invitation.%", "account.%", "token.%", "key.%", "webhook.%", "notifications.%"}

// unread returns the settings where who does not read them: an agent needs the log
// for its work, so it gets neither what people did beside jobs nor what is of
// these types, whoever did it. None for everybody else.
func unread(who tenancy.Principal) []string {
	if who.Kind == tenancy.KindAgent {
		return settings
	}
	return []string{}
}

// addressed are the types whose payload has an e-mail address that the page of
// members shows to nobody but those who manage it: of somebody who was invited,
// and of a person at an identity provider.
var addressed = []Type{MemberInvited, InvitationRevoked, IdentityLinked, IdentityUnlinked}

// payloadFor returns an event's payload as who may read it.
func payloadFor(who tenancy.Principal, kind Type, payload json.RawMessage) json.RawMessage {
	if !slices.Contains(addressed, kind) || who.Kind == tenancy.KindSystem || who.Can(tenancy.Manage) {
		return payload
	}
	said := map[string]json.RawMessage{}
	if json.Unmarshal(payload, &said) != nil {
		return json.RawMessage("{}")
	}
	delete(said, "email")
	left, err := json.Marshal(said)
	if err != nil {
		return json.RawMessage("{}")
	}
	return left
}

// readableBy leaves of the events what who may read.
func readableBy(who tenancy.Principal, list []Event) {
	for i := range list {
		list[i].Payload = payloadFor(who, list[i].Type, list[i].Payload)
	}
}
