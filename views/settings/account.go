// Package settings shows the pages of the settings, a file each: account,
// workspace, members, products, tokens, connect, secrets and audit.
package settings

import (
	"strings"

	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// AccountPage is the page of the own account.
type AccountPage struct {
	Shell    layout.Shell
	Name     string // as typed, or as it is
	Email    string
	Password PasswordPart
	Factor   FactorPart
	Sessions SessionsPart
	// LogIns are new ones that the person has not said anything about.
	LogIns   []LogInNews
	Identity *IdentityPart
	// Errors by field: name; current and password of the change of the password;
	// factor, drop and codes are the passwords typed in the second factor's forms.
	Errors map[string]string
	// Error is about a form as a whole, and In the part it stands in: account,
	// password, factor.
	Error, In string
}

// PasswordPart is the change of the password.
type PasswordPart struct {
	// Has is false for a person who only comes by the identity provider.
	Has bool
	// Proof is required before the first password; nil for none.
	Proof *ui.Proof
	// Revoke is the typed wish to revoke the person's tokens as well.
	Revoke bool
}

// FactorPart says whether a code is required after the password.
type FactorPart struct {
	On        bool
	Since     ui.When
	CodesLeft string // "8 of 10 recovery codes are left."
	CodesTone ui.Tone
}

// SessionsPart lists the browsers that are logged in.
type SessionsPart struct {
	List   []SessionRow
	Others bool // there is another one than this
}

// SessionRow is a browser that is logged in.
type SessionRow struct {
	Name     string // "Firefox on Linux"
	Address  string
	Since    ui.When
	LastSeen ui.When
	This     bool
	EndURL   string // "" for this one
}

// FactorPage is the second factor on its way: the secret to put into the app.
type FactorPage struct {
	Shell  layout.Shell
	QR     string // a PNG as a data: address
	Secret string // in groups, to type
	Error  string // at the code
}

// CodesPage shows recovery codes, once.
type CodesPage struct {
	Shell layout.Shell
	Codes []string
	// First is set right after the second factor was turned on.
	First bool
}

// FactorDuty is the page of a member who has to set up a second factor first.
type FactorDuty struct {
	Theme     layout.Theme
	Workspace string
	Others    []ui.Option // other workspaces of the person
	Error     string      // at the password
}

// LogInNews is a log in from a browser or a network that was not known.
type LogInNews struct {
	Name       string // "Firefox on Linux"
	Address    string
	At         ui.When
	MineURL    string
	NotMineURL string
}

// errorIn returns the sentence of a refused form in the part it belongs to.
func (m AccountPage) errorIn(part string) string {
	if m.In == part {
		return m.Error
	}
	return ""
}

// factorOff says what a log in takes without the second factor.
func (m AccountPage) factorOff() string {
	if m.Password.Has {
		return "Off: the password alone is enough."
	}
	return "Off: it comes after a password, and you have none."
}

// aboutPassword says what a new password is good for, and what it ends.
func (m AccountPage) aboutPassword() string {
	if m.Password.Has {
		return "A new password logs you out on all your other browsers."
	}
	provider := "an identity provider"
	if m.Identity != nil && m.Identity.Linked {
		provider = ui.Clean(m.Identity.Name)
	}
	return "You have none: you log in with " + provider + ". With a password you can also log in with your e-mail, " +
		"and turn the second factor on. Setting one logs you out on all your other browsers."
}

func (p CodesPage) title() string {
	if p.First {
		return "The second factor is on"
	}
	return "New recovery codes"
}

// lines returns the codes as they are copied.
func (p CodesPage) lines() string { return strings.Join(p.Codes, "\n") + "\n" }

// codesClass returns the look of what is left of the recovery codes.
func (f FactorPart) codesClass() string {
	if f.CodesTone == ui.Plain {
		return "text-muted"
	}
	return f.CodesTone.TextClass()
}
