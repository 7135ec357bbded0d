package handlers

import (
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// identityPart is what the page of the own account says about the identity
// provider; nil where the server has none.
func (s *Server) identityPart(c echo.Context, who tenancy.Principal) (*views.IdentityPart, error) {
	if s.Provider == nil {
		return nil, nil
	}
	at, err := s.Accounts.IdentityOf(c.Request().Context(), who, s.Provider.Issuer())
	if err != nil {
		return nil, err
	}
	return identityPartModel(s.Provider.Name(), at, time.Now()), nil
}

// identityLogin is the way to log in with the identity provider; nil where the
// server has none.
func (s *Server) identityLogin(next string) *views.IdentityLogin {
	if s.Provider == nil {
		return nil
	}
	return &views.IdentityLogin{Name: s.Provider.Name(), URL: links.IdentityLogin(next)}
}

// identityJoin is the way to accept an invitation with the identity provider;
// nil where the server has none.
func (s *Server) identityJoin(token string) *views.IdentityJoin {
	if s.Provider == nil {
		return nil
	}
	return &views.IdentityJoin{Name: s.Provider.Name(), URL: links.IdentityJoin(token)}
}
