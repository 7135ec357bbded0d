package login

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// InvitationPage is what the holder of an invitation's link sees.
type InvitationPage struct {
	Theme     layout.Theme
	URL       string // where the forms go
	Workspace string
	Role      string // "admin"
	May       string // what that is, a sentence
	By        string
	Until     ui.When

	// Guest is who is logged in, nil for nobody.
	Guest *InvitationGuest
	// For nobody: the form of a new account, and the other ways in.
	Name, Email string
	Errors      map[string]string // by field: name, email, password
	LogInURL    string
	Identity    *IdentityJoin
}

// InvitationGuest is a person who is logged in.
type InvitationGuest struct {
	Account string // id, which the form says again
	Name    string
	Email   string
	// Already is set where he is a member: what he is, and the workspace's id to
	// go to.
	Already     string
	WorkspaceID string
}
