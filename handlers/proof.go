package handlers

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/accounts"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// keptTokenForm is a token's form whose person went to prove who he is.
const keptTokenForm = "token_form"

// proveStart sends a person without a password to the provider, to log in anew.
func (s *Server) proveStart(c echo.Context, who tenancy.Principal) error {
	return s.toProvider(c, identityFlow{Purpose: toProve, Account: who.Account, Next: web.SafeNext(c.QueryParam("next"))})
}

// identityProven believes the person of the session where the provider vouches for
// the same one.
func (s *Server) identityProven(c echo.Context, flow identityFlow, claims accounts.Claims) error {
	who, err := s.Web.Person(c)
	if err != nil {
		return err
	}
	account, known, err := s.Accounts.IdentityAccount(c.Request().Context(), claims)
	if err != nil {
		return err
	}
	if !known || account.ID != who.Account || flow.Account != who.Account {
		return s.identityRefused(c, flow, fault.New(fault.Malformed, "You are another person there than the one who is logged in here. Begin again."))
	}
	if err := s.Web.Keep(c, accounts.SessionProven, web.ProvenNow()); err != nil {
		return err
	}
	s.Web.SetFlash(c, ui.Toast{Tone: ui.OK, Title: "Thank you, it is you", Text: "You can go on for ten minutes."})
	return web.SeeOther(c, web.SafeNext(flow.Next))
}

// tokenProof asks for a fresh proof before a token with a person's rights is made:
// it outlasts the session. Where the provider has to be asked, the form waits in
// the session. asked reports that the answer is given.
func (s *Server) tokenProof(c echo.Context, who tenancy.Principal, sheet tokenFormSheet, in url.Values) (asked bool, err error) {
	if sheet.form.kind != tenancy.KindPerson {
		return false, nil
	}
	sheet.proof, err = s.Web.TakeProof(c, who, in, links.NewToken(string(tenancy.KindPerson)))
	if err != nil || sheet.proof == nil {
		return false, err
	}
	if sheet.proof.ProviderURL != "" {
		in.Del(web.ProofField)
		if err := s.Web.Keep(c, keptTokenForm, in.Encode()); err != nil {
			return true, err
		}
	}
	return true, s.tokenFormPage(c, who, http.StatusUnprocessableEntity, sheet)
}
