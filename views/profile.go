package views

import (
	"strings"

	"fleetboard/views/ui"
)

// errorIn is the sentence of a refused form in the part it belongs to.
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

// lines are the codes as they are copied.
func (p CodesPage) lines() string { return strings.Join(p.Codes, "\n") + "\n" }

// codesClass is the look of what is left of the recovery codes.
func (f FactorPart) codesClass() string {
	if f.CodesTone == ui.Plain {
		return "text-muted"
	}
	return f.CodesTone.TextClass()
}
