package login

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
)

// wayOn is where a log in that failed began, and the way to try it again.
func (f identityFlow) wayOn(m *view.IdentityDoor) {
	m.Again = "Try again"
	switch f.Purpose {
	case toLink:
		m.Label, m.URL, m.AgainURL = "Your account", links.Account, links.IdentityLink
	case toProve:
		m.Label, m.URL, m.AgainURL = "Go back", web.SafeNext(f.Next), links.Prove(web.SafeNext(f.Next))
	case toJoin:
		m.Label, m.URL, m.AgainURL = "Back to the invitation", links.Invitation(f.Invitation), links.IdentityJoin(f.Invitation)
	default:
		next := web.SafeNext(f.Next)
		m.Label, m.URL, m.AgainURL = "To the log in", web.LoginFor(next), links.IdentityLogin(next)
	}
}

// refusedIdentity returns the page of a log in that did not get as far as a person.
func refusedIdentity(provider string, flow identityFlow, f *fault.Error, requestID string) view.IdentityDoor {
	m := view.IdentityDoor{Title: "Nobody was logged in", Text: f.Message, RequestID: requestID}
	flow.wayOn(&m)
	switch f.Code {
	case fault.Malformed:
		m.Title, m.RequestID = "This log in is over", ""
	case fault.Unavailable:
		m.Title = provider + " does not answer"
		if flow.Purpose == toLogIn {
			m.Steps = []string{"If your account has a password, log in with it."}
		}
	}
	return m
}

// unknownIdentity returns the page of a person whom no account belongs to.
func unknownIdentity(provider, email, next string) view.IdentityDoor {
	if email == "" {
		email = "somebody without an e-mail address"
	}
	return view.IdentityDoor{
		Title: "No account belongs to you yet",
		Text:  "At " + provider + " you are " + email + ". No account here is linked to that; an e-mail address alone opens none.",
		Steps: []string{
			"You have an account: log in with its password, then link " + provider + " under Settings, Your account.",
			"You are new: ask an owner of a workspace for an invitation, and continue with " + provider + " there.",
		},
		Label: "Log in with a password", URL: web.LoginFor(web.SafeNext(next)),
	}
}

// joinOver returns the page of an answer that no question waits for.
func joinOver() view.IdentityDoor {
	return view.IdentityDoor{Title: "You have not joined", Text: "It took longer than ten minutes, or was begun in another browser.",
		Steps: []string{"Open the link of your invitation again."}, Label: "To the log in", URL: links.Login}
}

// joinRefused returns the page of an invitation that could not be accepted. It does
// not say whether an e-mail address has an account.
func joinRefused(provider, token string, f *fault.Error) view.IdentityDoor {
	m := view.IdentityDoor{Title: "You have not joined", Text: f.Message,
		Label: "Back to the invitation", URL: links.Invitation(token)}
	switch f.Code {
	case fault.NotFound:
		m.Label, m.URL = "To the log in", links.Login
	case fault.Validation:
		m.Text = "No account could be made from what " + provider + " says of you."
		m.Steps = []string{
			"You have an account here: log in with its password, link " + provider +
				" under Settings, Your account, and open the invitation again.",
			"You have none: confirm your e-mail address at " + provider +
				", or create the account with a password on the page of the invitation.",
		}
	}
	return m
}
