package login

import (
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
)

// identityLogin returns the way to log in with the identity provider; nil where the
// server has none.
func (p *Pages) identityLogin(next string) *view.IdentityLogin {
	if p.Provider == nil {
		return nil
	}
	return &view.IdentityLogin{Name: p.Provider.Name(), URL: links.IdentityLogin(next)}
}

// identityJoin returns the way to accept an invitation with the identity provider;
// nil where the server has none.
func (p *Pages) identityJoin(token string) *view.IdentityJoin {
	if p.Provider == nil {
		return nil
	}
	return &view.IdentityJoin{Name: p.Provider.Name(), URL: links.IdentityJoin(token)}
}
