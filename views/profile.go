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

// factorState is the sentence that says how the log in is protected.
func (f FactorPart) state() string {
	if f.On {
		return "On: after the password you are asked for a code."
	}
	return "Off: the password alone is enough."
}

func (p CodesPage) title() string {
	if p.First {
		return "The second factor is on"
	}
	return "New recovery codes"
}

// lines are the codes as they are copied.
func (p CodesPage) lines() string { return strings.Join(p.Codes, "\n") + "\n" }

// pillTone is the look of what is left of the recovery codes.
func (f FactorPart) codesClass() string {
	if f.CodesTone == ui.Plain {
		return "text-muted"
	}
	return f.CodesTone.TextClass()
}
