package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/tenancy"
)

// Profile is what a person sees of the own account.
type Profile struct {
	Name  string
	Email string
	// HasPassword is false for a person who only comes by the identity provider.
	HasPassword bool
	// SecondFactorSince is nil where the second factor is off.
	SecondFactorSince *time.Time
	// CodesLeft is how many recovery codes were not used yet.
	CodesLeft int
}

// Profile returns the asker's own account. Fault: Forbidden for what is no person.
func (s *Service) Profile(ctx context.Context, who tenancy.Principal) (Profile, error) {
	if err := onlyPeople(who); err != nil {
		return Profile{}, err
	}
	var p Profile
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		p, _, err = profileTx(ctx, tx, who.Account)
		return err
	})
	return p, err
}

// Rename changes the name that others see, 1..100 characters. The same name is
// no change. Faults: Validation with the field name, Forbidden.
func (s *Service) Rename(ctx context.Context, who tenancy.Principal, name string) error {
	if err := onlyPeople(who); err != nil {
		return err
	}
	name = strings.TrimSpace(name)
	if text := checkName(name); text != "" {
		return fault.Invalid("name", "%s", text)
	}
	return s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		was, _, err := profileTx(ctx, tx, who.Account)
		if err != nil || was.Name == name {
			return err
		}
		if err := renameTx(ctx, tx, who.Account, name); err != nil {
			return err
		}
		return appendTx(ctx, tx, who, eventlog.Event{
			Type: eventlog.AccountRenamed, Changes: []eventlog.Change{{Field: "name", Old: was.Name, New: name}},
		})
	})
}

// PasswordChange is the current password and a new one, sent from a network
// address in the session of a token.
type PasswordChange struct {
	Current, New string
	Address      string
	Token        string
}

// ChangePassword changes the asker's password, by the rules of SetUp, and ends
// every session of the account. It returns the epoch of the sessions that begin
// from now on; the caller begins one in place of the token's. Faults: Validation
// with the fields current and password; VersionConflict where the password was
// changed at the same moment; Unauthenticated where the session was ended;
// TooMany and Unavailable as LogIn; Forbidden.
func (s *Service) ChangePassword(ctx context.Context, who tenancy.Principal, in PasswordChange) (epoch int64, err error) {
	if err := onlyPeople(who); err != nil {
		return 0, err
	}
	profile, err := s.Profile(ctx, who)
	if err != nil {
		return 0, err
	}
	if text := checkPassword(in.New, profile.Email); text != "" {
		return 0, fault.Invalid("password", "%s", text)
	}
	old, err := s.confirmPassword(ctx, who.Account, in.Current, in.Address)
	if err != nil {
		return 0, err
	}
	if in.Current == in.New {
		return 0, fault.Invalid("password", "This is the password you have. Choose another one.")
	}
	return s.replacePassword(ctx, who, old, in.New, in.Token)
}

// SetPassword gives the asker's account its first password, by the rules of
// SetUp, and ends every session of the account; there is nothing yet that could
// be asked for. The token is that of the asking session. It returns the epoch of
// the sessions that begin from now on; the caller begins one in place of the
// token's. Faults: Validation with the field password; InvalidTransition where
// the account has a password, also one of this very moment; Unauthenticated where
// the session was ended; Unavailable as LogIn; Forbidden.
func (s *Service) SetPassword(ctx context.Context, who tenancy.Principal, password, token string) (epoch int64, err error) {
	profile, err := s.Profile(ctx, who)
	if err != nil {
		return 0, err
	}
	if profile.HasPassword {
		return 0, passwordThere()
	}
	if text := checkPassword(password, profile.Email); text != "" {
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
	hash, err := s.passwords.hash(ctx, loggedIn(who.Account), password)
	if err != nil {
		return 0, err
	}
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
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
		if err := endThisTx(ctx, tx, token); err != nil {
			return err
		}
		n, err := endOtherSessionsTx(ctx, tx, who.Account, nil)
		if err != nil {
			return err
		}
		return appendTx(ctx, tx, who, eventlog.Event{Type: eventlog.PasswordChanged, Payload: passwordEvent(n, old == "")})
	})
	return epoch, err
}

// passwordEvent says how many other sessions ended, and whether the password is
// the account's first.
func passwordEvent(sessions int, first bool) json.RawMessage {
	if !first {
		return sessionCount(sessions)
	}
	return fmt.Appendf(nil, `{"sessions": %d, "first": true}`, sessions)
}

// onlyPeople refuses agents, enrolment tokens and loops.
func onlyPeople(who tenancy.Principal) error {
	if who.Kind != tenancy.KindPerson {
		return fault.New(fault.Forbidden, "Only a person has an account.")
	}
	return nil
}

// checkName returns what is wrong with a person's name, "" if nothing.
func checkName(name string) string {
	if n := utf8.RuneCountInString(name); n < 1 || n > maxName || !storable(name) {
		return fmt.Sprintf("Use 1 to %d characters.", maxName)
	}
	return ""
}
