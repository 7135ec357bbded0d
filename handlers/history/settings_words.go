package history

import (
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/views/ui"
)

// setting is what an event of the settings says.
type setting struct {
	said    func(name string) string // a text of the payload, cut
	payload map[string]any
	changes []eventlog.Change
}

// SettingWords say what a person did in settings, from the verb on; who did it
// stands beside it. They name people, tokens and agents, and no secret: there
// is none in an event.
var SettingWords = map[eventlog.Type]func(setting) ui.Sentence{
	eventlog.WorkspaceCreated: func(e setting) ui.Sentence {
		return ui.Say(ui.T("made the workspace "), ui.Name(e.said("name")))
	},
	eventlog.LossNoted:        func(setting) ui.Sentence { return ui.Text("knows what the database lacks of the log") },
	eventlog.WorkspaceRenamed: func(e setting) ui.Sentence { return e.fromTo("renamed the workspace", "name") },
	eventlog.MemberInvited: func(e setting) ui.Sentence {
		return append(ui.Say(ui.T("invited "), ui.Name(e.invited())), e.as("role")...)
	},
	eventlog.InvitationRevoked: func(e setting) ui.Sentence {
		return append(ui.Say(ui.T("took back the invitation of "), ui.Name(e.invited())), e.as("role")...)
	},
	eventlog.MemberJoined: func(e setting) ui.Sentence {
		text := append(ui.Say(ui.T("joined")), e.as("role")...)
		if by := e.said("invited_by"); by != "" {
			text = append(text, ui.T(", invited by "), ui.Name(by))
		}
		return text
	},
	eventlog.MemberRoleChanged: func(e setting) ui.Sentence {
		return append(ui.Say(ui.T("changed the role of "), ui.Name(e.member())), e.fromTo("", "role")...)
	},
	eventlog.MemberRemoved: func(e setting) ui.Sentence {
		text := ui.Say(ui.T("removed "), ui.Name(e.member()))
		if role := e.said("role"); role != "" {
			text = append(text, ui.T(", who was "+role))
		}
		return text
	},
	eventlog.LogInDisowned: func(e setting) ui.Sentence {
		return ui.Text("said that a log in from " + first(e.said("address"), "somewhere") + " was somebody else's")
	},
	eventlog.MemberDisabled: func(e setting) ui.Sentence { return ui.Say(ui.T("disabled "), ui.Name(e.member())) },
	eventlog.MemberEnabled:  func(e setting) ui.Sentence { return ui.Say(ui.T("enabled "), ui.Name(e.member()), ui.T(" again")) },
	eventlog.MemberSessionsEnded: func(e setting) ui.Sentence {
		return ui.Say(ui.T("ended "+web.Plural(toNumber(e.payload["sessions"]), "session", "sessions")+" of "), ui.Name(e.member()))
	},
	eventlog.WorkspaceFactorSet: func(e setting) ui.Sentence {
		if len(e.changes) > 0 && e.changes[0].New == true {
			return ui.Text("made the second factor a duty of members")
		}
		return ui.Text("made the second factor a choice of members")
	},
	eventlog.MemberLeft:     func(setting) ui.Sentence { return ui.Text("left the workspace") },
	eventlog.AccountRenamed: func(e setting) ui.Sentence { return e.fromTo("changed the own name", "name") },
	eventlog.PasswordChanged: func(e setting) ui.Sentence {
		text := "changed the password"
		if first, _ := e.payload["first"].(bool); first {
			text = "set the account's first password"
		}
		if n := toNumber(e.payload["sessions"]); n > 0 {
			text += ", which ended " + web.Plural(n, "other session", "other sessions")
		}
		return ui.Text(text)
	},
	eventlog.SecondFactorOn:  func(setting) ui.Sentence { return ui.Text("turned the second factor on") },
	eventlog.SecondFactorOff: func(setting) ui.Sentence { return ui.Text("turned the second factor off") },
	eventlog.IdentityLinked: func(e setting) ui.Sentence {
		return slices.Concat(ui.Say(ui.T("linked the account with ")), e.provider(), e.as("email"))
	},
	eventlog.IdentityUnlinked: func(e setting) ui.Sentence {
		return append(ui.Say(ui.T("unlinked the account from ")), e.provider()...)
	},
	eventlog.SessionsEnded: func(e setting) ui.Sentence {
		return ui.Text("ended " + web.Plural(toNumber(e.payload["sessions"]), "own session", "own sessions"))
	},
	eventlog.TokenIssued:  func(e setting) ui.Sentence { return append(e.token("made"), e.scope()...) },
	eventlog.TokenRevoked: func(e setting) ui.Sentence { return e.token("revoked") },
	eventlog.AgentCutOff: func(e setting) ui.Sentence {
		return append(ui.Say(ui.T("cut off "), ui.Name(e.said("agent"))), colon(e.said("reason"))...)
	},
	eventlog.KeyRotationBegun: func(e setting) ui.Sentence {
		return ui.Text("began to re-encrypt " + e.values() + " with a new key")
	},
	eventlog.KeyRotationDone: func(e setting) ui.Sentence {
		return ui.Text("re-encrypted " + e.values() + " with the new key")
	},
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func (e setting) member() string { return first(e.said("member"), e.said("email"), "somebody") }

// invited is who was invited; the log keeps that from those who do not manage
// members.
func (e setting) invited() string { return first(e.said("email"), "somebody") }

func (e setting) as(name string) ui.Sentence {
	if text := e.said(name); text != "" {
		return ui.Say(ui.T(" as " + text))
	}
	return nil
}

// fromTo says what a field was and is.
func (e setting) fromTo(verb, field string) ui.Sentence {
	for _, c := range e.changes {
		if c.Field == field {
			return ui.Say(ui.T(verb+" from "), ui.Name(fieldValue(field, c.Old)), ui.T(" to "), ui.Name(fieldValue(field, c.New)))
		}
	}
	return ui.Text(verb)
}

func (e setting) provider() ui.Sentence {
	return ui.Say(ui.Name(first(e.said("issuer"), "an identity provider")))
}

// token names a token: its kind, its name, and the beginning that its holder
// knows it by.
func (e setting) token(verb string) ui.Sentence {
	text := ui.Say(ui.T(verb+" the "+strings.TrimSpace(e.said("kind")+" token ")+" "), ui.Name(e.said("name")))
	if hint := e.said("hint"); hint != "" {
		text = append(text, ui.T(", "), ui.Key(hint))
	}
	return text
}

// scope returns what a token is limited to.
func (e setting) scope() ui.Sentence {
	var limits []string
	for _, name := range []string{"products", "capabilities"} {
		if list, ok := e.payload[name].([]any); ok && len(list) > 0 {
			limits = append(limits, listValue(name, list))
		}
	}
	if factory := e.said("factory"); factory != "" {
		limits = append(limits, factory)
	}
	if len(limits) == 0 {
		return nil
	}
	return ui.Say(ui.T(" for " + strings.Join(limits, ", ")))
}

func (e setting) values() string { return web.Plural(toNumber(e.payload["values"]), "value", "values") }
