// Package login shows the pages of somebody who is not logged in yet: log in,
// set up, invitations and the identity provider.
package login

import "github.com/fleetboard/fleetboard/views/layout"

// Login is the log-in page.
type Login struct {
	Theme layout.Theme
	Email string
	Next  string // a path of ours
	Error string // one sentence that does not say which field was wrong
	// Identity is the other way in, nil where there is none.
	Identity *IdentityLogin
}

// LoginCode is the second step of the log in.
type LoginCode struct {
	Theme layout.Theme
	Next  string // a path of ours
	Error string
}

// Setup is the page of a set-up link: the workspace, and its owner's name, e-mail and password.
type Setup struct {
	Theme     layout.Theme
	URL       string // links.Setup(token), where the form goes
	Workspace string
	Name      string
	Email     string
	Errors    map[string]string // by field: workspace, name, email, password
	Error     string
}
