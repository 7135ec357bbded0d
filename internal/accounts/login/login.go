package login

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// wrongLogin is the one answer to every wrong log in.
const wrongLogin = "This e-mail and password do not fit together."

// LoggedIn is an account whose password was right.
type LoggedIn struct {
	people.Account
	// Epoch goes into the session, as Epoch: a password that is changed
	// while this log in is under way ends its session too.
	Epoch int64
	// NeedsCode is set where the second factor comes before any session.
	NeedsCode bool
}

// LogIn checks an e-mail and a password. Faults: Unauthenticated, the same for an
// unknown e-mail and a wrong password, and equally slow; TooMany and, where too
// many log in at this moment, Unavailable, both with Details["retry_after"] in
// seconds.
func (s *Service) LogIn(ctx context.Context, email, password string, from devices.Origin) (LoggedIn, error) {
	email = people.NormalEmail(email)
	if email == "" || password == "" || len(password) > 4*passwords.MaxLength || !people.Storable(email) {
		return LoggedIn{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	if from.Devices == "" {
		if err := s.passwords.Room(passwords.Stranger(from.Address)); err != nil {
			return LoggedIn{}, err
		}
	}
	var found credentials
	var try throttle.Attempt
	var who passwords.Asker
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		if found, err = accountByEmailTx(ctx, tx, email); err != nil {
			return err
		}
		try, who = s.throttle.From(throttle.Password, email, found.ID, found.Epoch, from)
		if err := s.passwords.Room(who); err != nil {
			return err
		}
		return throttle.TakeTx(ctx, tx, try)
	})
	if err != nil {
		return LoggedIn{}, err
	}
	ok, weak, err := s.passwords.Check(ctx, who, found.hash, password)
	if err != nil {
		return LoggedIn{}, s.throttle.Undo(ctx, try, err)
	}
	if !ok {
		return LoggedIn{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	stronger := ""
	if weak {
		if stronger, err = s.passwords.Hash(ctx, who, password); err != nil {
			return LoggedIn{}, s.throttle.Undo(ctx, try, err)
		}
	}
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		if err := throttle.RightTx(ctx, tx, try); err != nil || stronger == "" {
			return err
		}
		return q.AccountRehash(ctx, tx, stronger, found.ID, found.hash)
	})
	if err != nil {
		return LoggedIn{}, err
	}
	return found.LoggedIn, nil
}

// ConfirmPassword checks the password of a person who is logged in, before a
// change of what protects the account. It returns the hash it fits. Faults:
// Validation with the field current, TooMany and Unavailable.
func (s *Service) ConfirmPassword(ctx context.Context, account ids.ID, password, addr string) (hash string, err error) {
	if password == "" || len(password) > 4*passwords.MaxLength {
		return "", wrongCurrent()
	}
	who := loggedIn(account)
	if err := s.passwords.Room(who); err != nil {
		return "", err
	}
	try := s.throttle.At(throttle.InSession, account.String(), addr)
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		if err := throttle.TakeTx(ctx, tx, try); err != nil {
			return err
		}
		_, hash, err = people.ProfileTx(ctx, tx, account)
		return err
	})
	if err != nil {
		return "", err
	}
	ok, _, err := s.passwords.Check(ctx, who, hash, password)
	if err != nil {
		return "", s.throttle.Undo(ctx, try, err)
	}
	if !ok {
		return "", wrongCurrent()
	}
	return hash, s.throttle.Right(ctx, try)
}

// loggedIn returns a person for whom a hash is made in a session.
func loggedIn(account ids.ID) passwords.Asker {
	return passwords.Asker{Name: "account " + account.String(), Known: true}
}

func wrongCurrent() error { return fault.Invalid("current", "This is not your password.") }
