package web

import (
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// ProofField is the field of a form with a new proof of identity.
const ProofField = "proof"

// proven reports whether the person has lately proven their identity in this session.
func (s *Site) proven(c echo.Context) (bool, error) {
	ctx, err := s.Sessions.Load(c.Request().Context(), s.SessionToken(c))
	if err != nil {
		return false, err
	}
	at, err := strconv.ParseInt(s.Sessions.GetString(ctx, sessions.Proven), 10, 64)
	return err == nil && time.Since(time.Unix(at, 0)) < sessions.ProofLife, nil
}

// ProvenNow returns the value of sessions.Proven for a proof at this moment.
func ProvenNow() string { return strconv.FormatInt(time.Now().Unix(), 10) }

// AskProof returns the proof that a person must give before an action that outlasts the
// session; nil where none is needed. next is the page to which a log in with the provider
// leads back.
func (s *Site) AskProof(c echo.Context, who tenancy.Principal, next string) (*ui.Proof, error) {
	if ok, err := s.proven(c); ok || err != nil {
		return nil, err
	}
	profile, err := s.Accounts.People.Profile(c.Request().Context(), who)
	if err != nil {
		return nil, err
	}
	ask := &ui.Proof{Password: profile.HasPassword, Code: profile.SecondFactorSince != nil}
	if !ask.Password && s.Provider != nil {
		ask.Provider, ask.ProviderURL = s.Provider.Name(), links.Prove(next)
	}
	return ask, nil
}

// TakeProof is AskProof for a form that was sent: a correct proof in it counts from now on. A proof
// that is still required has the error of the one that was sent.
func (s *Site) TakeProof(c echo.Context, who tenancy.Principal, in url.Values, next string) (*ui.Proof, error) {
	ask, err := s.AskProof(c, who, next)
	if ask == nil || err != nil {
		return nil, err
	}
	if ask.ProviderURL != "" {
		ask.Error = "Log in with " + ask.Provider + " again to go on."
		return ask, nil
	}
	err = s.Accounts.SecondFactors.Prove(c.Request().Context(), who, in.Get(ProofField), s.LoginOrigin(c))
	switch f := fault.From(err); {
	case err == nil:
		return nil, s.KeepInSession(c, sessions.Proven, ProvenNow())
	case f.Code == fault.Validation:
		ask.Error = f.Fields["current"]
	case MustWait(f):
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(RetryAfter(f)))
		ask.Error = TryAgainText(f)
	default:
		return nil, err
	}
	return ask, nil
}
