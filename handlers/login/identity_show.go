package login

import (
	"fleetboard/views"
	"fleetboard/views/links"
)

// identityLogin is the way to log in with the identity provider; nil where the
// server has none.
func (p *Pages) identityLogin(next string) *views.IdentityLogin {
	if p.Provider == nil {
		return nil
	}
	return &views.IdentityLogin{Name: p.Provider.Name(), URL: links.IdentityLogin(next)}
}

// identityJoin is the way to accept an invitation with the identity provider;
// nil where the server has none.
func (p *Pages) identityJoin(token string) *views.IdentityJoin {
	if p.Provider == nil {
		return nil
	}
	return &views.IdentityJoin{Name: p.Provider.Name(), URL: links.IdentityJoin(token)}
}
