package login

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// PasswordChange is the current password and a new one, sent from a network
// address in the session of a token.
type PasswordChange struct {
	Current, New string
	Address      string
	Token        string
}

// ChangePassword changes the caller's password, by the rules of SetUp, and ends
// every session of the account. It returns the epoch of the sessions that begin
// from now on; the caller begins one in place of the token's. Faults: Validation
// with the fields current and password; VersionConflict where the password was
// changed at the same moment; Unauthenticated where the session was ended;
// TooMany and Unavailable as LogIn; Forbidden.
func (s *Service) ChangePassword(ctx context.Context, who tenancy.Principal, in PasswordChange) (epoch int64, err error) {
	if err := people.OnlyPeople(who); err != nil {
		return 0, err
	}
	profile, err := s.people.Profile(ctx, who)
	if err != nil {
		return 0, err
	}
	if text := passwords.Problem(in.New, profile.Email); text != "" {
		return 0, fault.Invalid("password", "%s", text)
	}
	old, err := s.ConfirmPassword(ctx, who.Account, in.Current, in.Address)
	if err != nil {
		return 0, err
	}
	if in.Current == in.New {
		return 0, fault.Invalid("password", "This is the password you have. Choose another one.")
	}
	return s.replacePassword(ctx, who, old, in.New, in.Token)
}

// SetPassword gives the caller's account its first password, by the rules of
// SetUp, and ends every session of the account; there is nothing yet that could
// be requested. The token is that of the calling session. It returns the epoch of
// the sessions that begin from now on; the caller begins one in place of the
// token's. Faults: Validation with the field password; InvalidTransition where
// the account has a password, also one of this very moment; Unauthenticated where
// the session was ended; Unavailable as LogIn; Forbidden.
func (s *Service) SetPassword(ctx context.Context, who tenancy.Principal, password, token string) (epoch int64, err error) {
	profile, err := s.people.Profile(ctx, who)
	if err != nil {
		return 0, err
	}
	if profile.HasPassword {
		return 0, passwordThere()
	}
	if text := passwords.Problem(password, profile.Email); text != "" {
		return 0, fault.Invalid("password", "%s", text)
	}
	return s.replacePassword(ctx, who, "", password, token)
}

func passwordThere() error {
	return fault.New(fault.InvalidTransition, "Your account has a password already. Type it to change it.")
}

// replacePassword puts a password in the place of the one with the old hash, ""
// for none, and of no other.
func (s *Service) replacePassword(ctx context.Context, who tenancy.Principal, old, password, token string) (epoch int64, err error) {
	hash, err := s.passwords.Hash(ctx, loggedIn(who.Account), password)
	if err != nil {
		return 0, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		next, ok, err := changePasswordTx(ctx, tx, who.Account, old, hash)
		switch {
		case err != nil:
			return err
		case !ok && old == "":
			return passwordThere()
		case !ok:
			return fault.New(fault.VersionConflict, "Your password was changed elsewhere at this moment. Log in with the new one.")
		}
		epoch = next
		if err := sessions.EndThisTx(ctx, tx, token); err != nil {
			return err
		}
		n, err := sessions.EndOthersTx(ctx, tx, who.Account, nil)
		if err != nil {
			return err
		}
		facts := map[string]any{"sessions": n}
		if old == "" {
			facts["first"] = true
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.PasswordChanged, facts)
	})
	return epoch, err
}
