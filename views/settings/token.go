package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// TokensPage lists tokens; on the answer to the form it shows the new one.
type TokensPage struct {
	Shell layout.Shell
	// Made is on the answer that made it, and nowhere afterwards.
	Made *MadeToken
	// Own are the person's, Enrolment the workspace's.
	Own, Enrolment []AccessToken
	// CanEnrol shows the workspace's enrolment tokens, and the issuers that it trusts.
	CanEnrol bool
	Issuers  []TrustedIssuer
	// Issuer is the form that trusts one.
	Issuer ui.Form
}

// TrustedIssuer is one whose tokens register agents.
type TrustedIssuer struct {
	Name, ID, URL, Audience string
	Claims                  []string // "repository_id=1296269"
	Limits                  []string
	Used                    ui.When // zero: never
	Live                    bool
	RemoveURL               string
}

// MadeToken is a token with all of its text.
type MadeToken struct {
	Name, Token string
	Ends        ui.Sentence // "It ends on 21 Feb 2027." or "It does not end by itself."
	Enrolment   bool
}

// AccessToken is one row.
type AccessToken struct {
	ID        string
	Name      string
	Hint      string   // "fb_person_3fA9xz…"
	Limits    []string // what an enrolment token is limited to: "atlas", "os:mac", "factory mac-1"
	MaySubmit bool     // its agents may create jobs
	Roles     string   // that its agents may have beside worker
	By        string
	Made      ui.When
	Expires   ui.When // zero: never
	Used      ui.When // zero: never
	State     string  // "Live", "Expired", "Revoked"
	Live      bool
	Agents    int // alive, that registered with it
	RevokeURL string
	Enrolment bool
}

// verb distinguishes its dialog from the others of the page.
func (t AccessToken) verb() string { return "revoke-" + t.ID }

// agents says how many of them there are.
func (t AccessToken) agents() string {
	switch t.Agents {
	case 0:
		return "None of its agents is alive now."
	case 1:
		return "One agent that registered with it is alive."
	}
	return ui.Count(t.Agents) + " agents that registered with it are alive."
}

// TokenFormPage is the form of a new token.
type TokenFormPage struct {
	Shell layout.Shell
	Form  TokenForm
}

// TokenForm is the form with what was typed.
type TokenForm struct {
	ui.Form

	Products  []ui.Option // the workspace's, an enrolment token's choice
	Proof     *ui.Proof
	Enrolment bool
}

func (f TokenForm) heading() string {
	if f.Enrolment {
		return "New enrolment token"
	}
	return "New token of yours"
}
