package login

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// IdentityLogin is the way to log in with the identity provider; nil where the
// server has none.
type IdentityLogin struct {
	Name string // what people call the provider
	URL  string // links.IdentityLogin(next)
}

// IdentityJoin is the way to accept an invitation with the identity provider;
// nil where the server has none.
type IdentityJoin struct {
	Name string
	URL  string // links.IdentityJoin(token)
}

// IdentityConfirm is the page that confirms whether an identity belongs to the person
// who is logged in.
type IdentityConfirm struct {
	Shell         layout.Shell
	Provider      string
	Email         string // who the person is there; "" where it does not say
	Account       string // the e-mail of the account here
	Key           string // of this question
	NeedsPassword bool
	Errors        map[string]string // by field: current
	Error         string
}

// who returns the person's name at the provider.
func (m IdentityConfirm) who() string {
	if m.Email == "" {
		return "somebody without an e-mail"
	}
	return ui.Clean(m.Email)
}

// IdentityDoor is the page of somebody whom the provider sent and who does not
// get in: why, and what to do.
type IdentityDoor struct {
	Theme     layout.Theme
	Title     string
	Text      string
	Steps     []string
	Label     string // of the way on
	URL       string
	Again     string // of the other way, "" for none
	AgainURL  string
	RequestID string // "" where the log knows no more
}

// IdentityGuest is the page on which somebody whom the provider sent decides whether to
// accept an invitation: who joins what.
type IdentityGuest struct {
	Theme    layout.Theme
	Key      string // of this question
	Error    string
	Provider string
	Who      string // who the person is there; "" where it does not say
	Account  string // the e-mail of the account here; "" where one is made
	LeavesAs string // the e-mail of another account that is logged in here; "" for none

	Workspace, Role, May, By string
	Until                    ui.When
	Back                     string // the invitation's page
}

// who returns the person's name at the provider.
func (m IdentityGuest) who() string {
	if m.Who == "" {
		return "somebody without an e-mail"
	}
	return ui.Clean(m.Who)
}
