// Package login is what people meet before they are logged in: log in, second
// factor, set-up, invitations, and the way to the identity provider and back.
package login

import (
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Pages answers the requests of the page.
type Pages struct{ *web.Site }

// New returns the page.
func New(s *web.Site) *Pages { return &Pages{s} }

// Routes returns the pages and actions, each with the permission it needs. The way to the
// identity provider is a link and not a form: the content security policy lets no
// form lead to another site.
func (p *Pages) Routes() []web.Route {
	identity := (&identityPages{p}).routes()
	return append([]web.Route{
		web.Get(links.Login, tenancy.Public, p.loginForm),
		web.Post(links.Login, tenancy.Public, p.login),
		web.Post(links.Logout, tenancy.Public, p.logout),
		web.Get("/setup/:token", tenancy.Public, p.setupForm),
		web.Post("/setup/:token", tenancy.Public, p.setup),
		web.Get(links.LoginCode, tenancy.Public, p.loginCodeForm),
		web.Post(links.LoginCode, tenancy.Public, p.loginCode),
		web.Get("/invitations/:token", tenancy.Public, p.invitationShow),
		web.Post("/invitations/:token", tenancy.Public, p.invitationAccept),
	}, identity...)
}

// identityPages lead to the identity provider and back, to log in, to join, to link an
// account or to prove who a person is.
type identityPages struct{ *Pages }

func (p *identityPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.IdentityStart, tenancy.Public, p.identityStart),
		web.Get(links.IdentityCallback, tenancy.Public, p.identityCallback),
		web.Get(links.IdentityAccept, tenancy.Public, p.identityJoinShow),
		web.Post(links.IdentityAccept, tenancy.Public, p.identityJoinAccept),
		web.Get(links.IdentityLink, tenancy.SignedIn, p.identityLinkStart),
		web.Get(links.ProveStart, tenancy.SignedIn, p.proveStart),
		web.Get(links.IdentityConfirm, tenancy.SignedIn, p.identityConfirm),
		web.Post(links.IdentityLink, tenancy.SignedIn, p.identityLink),
		web.Post(links.IdentityUnlink, tenancy.SignedIn, p.identityUnlink),
	}
}
