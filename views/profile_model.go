package views

import "fleetboard/views/ui"

// AccountPage is the page of the own account.
type AccountPage struct {
	Shell    Shell
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
	// Proof is asked before the first password; nil for none.
	Proof *Proof
	// Revoke is the typed wish to revoke the person's tokens as well.
	Revoke bool
}

// FactorPart says whether a code is asked for after the password.
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
	Shell  Shell
	QR     string // a PNG as a data: address
	Secret string // in groups, to type
	Error  string // at the code
}

// CodesPage shows recovery codes, once.
type CodesPage struct {
	Shell Shell
	Codes []string
	// First is set right after the second factor was turned on.
	First bool
}

// FactorDuty is the page of a member who has to set up a second factor first.
type FactorDuty struct {
	Theme     Theme
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
