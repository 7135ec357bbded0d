package handlers

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/accounts"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// proofField is what a form asks a fresh proof with.
const proofField = "proof"

// keptTokenForm is a token's form whose person went to prove who he is.
const keptTokenForm = "token_form"

// fresh reports whether the person has proven in this session, lately, who he is.
func (s *Server) fresh(c echo.Context) (bool, error) {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.token(c))
	if err != nil {
		return false, err
	}
	at, err := strconv.ParseInt(s.Sessions.GetString(ctx, accounts.SessionProven), 10, 64)
	return err == nil && time.Since(time.Unix(at, 0)) < accounts.ProofLife, nil
}

// provenNow is the value of accounts.SessionProven at this moment.
func provenNow() string { return strconv.FormatInt(time.Now().Unix(), 10) }

// proofOf is what a person is asked before something that outlasts the session;
// nil where nothing has to be asked. next is where a log in with the provider
// comes back to.
func (s *Server) proofOf(c echo.Context, who tenancy.Principal, next string) (*views.Proof, error) {
	if ok, err := s.fresh(c); ok || err != nil {
		return nil, err
	}
	profile, err := s.Accounts.Profile(c.Request().Context(), who)
	if err != nil {
		return nil, err
	}
	ask := &views.Proof{Password: profile.HasPassword, Code: profile.SecondFactorSince != nil}
	if !ask.Password && s.Provider != nil {
		ask.Provider, ask.ProviderURL = s.Provider.Name(), links.Prove(next)
	}
	return ask, nil
}

// prove is proofOf for a form that was sent: a right answer in it is believed from
// now on. What is still asked says what was wrong.
func (s *Server) prove(c echo.Context, who tenancy.Principal, in url.Values, next string) (*views.Proof, error) {
	ask, err := s.proofOf(c, who, next)
	if ask == nil || err != nil {
		return nil, err
	}
	if ask.ProviderURL != "" {
		ask.Error = "Log in with " + ask.Provider + " again to go on."
		return ask, nil
	}
	err = s.Accounts.Prove(c.Request().Context(), who, in.Get(proofField), s.originOf(c))
	switch f := fault.From(err); {
	case err == nil:
		return nil, s.putSession(c, accounts.SessionProven, provenNow())
	case f.Code == fault.Validation:
		ask.Error = f.Fields["current"]
	case waits(f):
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(retryAfter(f)))
		ask.Error = tryAgain(f)
	default:
		return nil, err
	}
	return ask, nil
}

// proveStart sends a person without a password to the provider, to log in anew.
func (s *Server) proveStart(c echo.Context, who tenancy.Principal) error {
	return s.toProvider(c, identityFlow{Purpose: toProve, Account: who.Account, Next: safeNext(c.QueryParam("next"))})
}

// identityProven believes the person of the session where the provider vouches for
// the same one.
func (s *Server) identityProven(c echo.Context, flow identityFlow, claims accounts.Claims) error {
	who, err := s.person(c)
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
	if err := s.putSession(c, accounts.SessionProven, provenNow()); err != nil {
		return err
	}
	s.setFlash(c, ui.Toast{Tone: ui.OK, Title: "Thank you, it is you", Text: "You can go on for ten minutes."})
	return seeOther(c, safeNext(flow.Next))
}

// tokenProof asks for a fresh proof before a token with a person's rights is made:
// it outlasts the session. Where the provider has to be asked, the form waits in
// the session. asked reports that the answer is given.
func (s *Server) tokenProof(c echo.Context, who tenancy.Principal, sheet tokenFormSheet, in url.Values) (asked bool, err error) {
	if sheet.form.kind != tenancy.KindPerson {
		return false, nil
	}
	sheet.proof, err = s.prove(c, who, in, links.NewToken(string(tenancy.KindPerson)))
	if err != nil || sheet.proof == nil {
		return false, err
	}
	if sheet.proof.ProviderURL != "" {
		in.Del(proofField)
		if err := s.putSession(c, keptTokenForm, in.Encode()); err != nil {
			return true, err
		}
	}
	return true, s.tokenFormPage(c, who, http.StatusUnprocessableEntity, sheet)
}
