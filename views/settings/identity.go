package settings

import "github.com/fleetboard/fleetboard/views/ui"

// IdentityPart is the part of the own account about the identity provider; nil
// where the server has none.
type IdentityPart struct {
	Name    string // of the provider
	LinkURL string // "" when linked

	Linked   bool
	Email    string // what the provider said last; "" where it says none
	Since    ui.When
	LastUsed ui.When // zero is never
	// Unlink is nil where it would leave no way in.
	Unlink *ui.Action
}

// about says what a log in there means here.
func (m IdentityPart) about() string {
	if m.Linked && m.Unlink == nil {
		return "Your way in. If a second factor is asked for, then there and not here."
	}
	return "A way in beside your password. The second factor is then asked for there, not here."
}
