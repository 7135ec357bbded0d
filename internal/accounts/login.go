package accounts

import (
	"context"
	"strings"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// wrongLogin is the one answer to every wrong log in.
const wrongLogin = "This e-mail and password do not fit together."

// LoggedIn is an account whose password was right.
type LoggedIn struct {
	Account
	// Epoch goes into the session, as SessionEpoch: a password that is changed
	// while this log in is under way ends its session too.
	Epoch int64
	// NeedsCode is set where the second factor comes before any session.
	NeedsCode bool
}

// LogIn checks an e-mail and a password. Faults: Unauthenticated, the same for an
// unknown e-mail and a wrong password, and equally slow; TooMany and, where too
// many log in at this moment, Unavailable, both with Details["retry_after"] in
// seconds.
func (s *loginService) LogIn(ctx context.Context, email, password string, from Origin) (LoggedIn, error) {
	email = normalEmail(email)
	if email == "" || password == "" || len(password) > 4*maxPassword || !storable(email) {
		return LoggedIn{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	if from.Devices == "" {
		if err := s.passwords.room(stranger(from.Address)); err != nil {
			return LoggedIn{}, err
		}
	}
	var found credentials
	var try attempt
	var who asker
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		if found, err = accountByEmailTx(ctx, tx, email); err != nil {
			return err
		}
		try, who = s.throttle.attemptFrom(logInPassword, email, found.ID, found.Epoch, from)
		if err := s.passwords.room(who); err != nil {
			return err
		}
		return takeTx(ctx, tx, try)
	})
	if err != nil {
		return LoggedIn{}, err
	}
	ok, weak, err := s.passwords.check(ctx, who, found.hash, password)
	if err != nil {
		return LoggedIn{}, s.throttle.undo(ctx, try, err)
	}
	if !ok {
		return LoggedIn{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	stronger := ""
	if weak {
		if stronger, err = s.passwords.hash(ctx, who, password); err != nil {
			return LoggedIn{}, s.throttle.undo(ctx, try, err)
		}
	}
	err = s.db.InNone(ctx, func(tx db.Tx) error {
		if err := attemptRightTx(ctx, tx, try); err != nil || stronger == "" {
			return err
		}
		return rehashTx(ctx, tx, found.ID, found.hash, stronger)
	})
	if err != nil {
		return LoggedIn{}, err
	}
	return found.LoggedIn, nil
}

// confirmPassword checks the password of a person who is logged in, before a
// change of what protects the account. It returns the hash it fits. Faults:
// Validation with the field current, TooMany and Unavailable.
func (s *loginService) confirmPassword(ctx context.Context, account ids.ID, password, addr string) (hash string, err error) {
	if password == "" || len(password) > 4*maxPassword {
		return "", wrongCurrent()
	}
	who := loggedIn(account)
	if err := s.passwords.room(who); err != nil {
		return "", err
	}
	try := s.throttle.attemptAt(inSession, account.String(), addr)
	err = s.db.InNone(ctx, func(tx db.Tx) error {
		if err := takeTx(ctx, tx, try); err != nil {
			return err
		}
		_, hash, err = profileTx(ctx, tx, account)
		return err
	})
	if err != nil {
		return "", err
	}
	ok, _, err := s.passwords.check(ctx, who, hash, password)
	if err != nil {
		return "", s.throttle.undo(ctx, try, err)
	}
	if !ok {
		return "", wrongCurrent()
	}
	return hash, s.throttle.right(ctx, try)
}

// loggedIn is a person for whom a hash is made in a session.
func loggedIn(account ids.ID) asker { return asker{name: "account " + account.String(), known: true} }

func wrongCurrent() error { return fault.Invalid("current", "This is not your password.") }

func normalEmail(email string) string {
	return strings.ToLower(strings.TrimSpace(email))
}
