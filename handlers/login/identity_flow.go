package login

import (
	"encoding/json"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// What a log in with the provider keeps in the browser's session: the way there
// and back, and who somebody is there until the person has said that it is right.
const (
	keptFlow     = "identity_flow"
	keptIdentity = "identity_found"
	keptJoin     = "identity_join"
	// flowLife is how long either may take.
	flowLife = 10 * time.Minute
)

// purpose is what a log in with the provider is for.
type purpose string

const (
	toLogIn purpose = "log in"
	toLink  purpose = "link"
	toJoin  purpose = "join"
	toProve purpose = "prove"
)

// identityFlow is a log in that is under way at the provider.
type identityFlow struct {
	oidc.Flow
	Purpose    purpose
	Next       string // a path of ours, to log in
	Invitation string // the token, to join
	Account    ids.ID // who wants the link, or proves who he is
	At         time.Time
}

// foundIdentity is what an account is about to be linked to.
type foundIdentity struct {
	oidc.Claims
	Account ids.ID
	Key     string // of the question, which its form repeats
	At      time.Time
}

// foundGuest is who is about to accept an invitation.
type foundGuest struct {
	oidc.Claims
	Invitation string // the token
	Key        string // of the question, which its form repeats
	At         time.Time
}

// keep puts a value into the browser's session.
func (p *identityPages) keep(c echo.Context, name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return p.KeepInSession(c, name, string(raw))
}

// takeFlow gives the log in that is under way in this browser, once; the zero
// flow where there is none or it took too long.
func (p *identityPages) takeFlow(c echo.Context) (identityFlow, error) {
	raw, err := p.TakeFromSession(c, keptFlow)
	var f identityFlow
	if err != nil || !unpack(raw, &f) || old(f.At) {
		return identityFlow{}, err
	}
	return f, nil
}

// foundFor gives the identity that a person is about to link, and leaves it where
// it is; false where there is none, it is another person's or took too long.
func (p *identityPages) foundFor(c echo.Context, account ids.ID) (foundIdentity, bool, error) {
	ctx, err := p.Sessions.Load(c.Request().Context(), p.SessionToken(c))
	if err != nil {
		return foundIdentity{}, false, err
	}
	var f foundIdentity
	if !unpack(p.Sessions.GetString(ctx, keptIdentity), &f) || f.Account != account || old(f.At) {
		return foundIdentity{}, false, nil
	}
	return f, true, nil
}

// guestFound gives who is about to accept an invitation in this browser, and
// leaves it where it is; false where there is nobody or it took too long.
func (p *identityPages) guestFound(c echo.Context) (foundGuest, bool, error) {
	ctx, err := p.Sessions.Load(c.Request().Context(), p.SessionToken(c))
	if err != nil {
		return foundGuest{}, false, err
	}
	var f foundGuest
	if !unpack(p.Sessions.GetString(ctx, keptJoin), &f) || old(f.At) {
		return foundGuest{}, false, nil
	}
	return f, true, nil
}

// unpack reads what keep put away; false where there is nothing.
func unpack(raw string, into any) bool { return raw != "" && json.Unmarshal([]byte(raw), into) == nil }

func old(at time.Time) bool { return time.Since(at) > flowLife }
