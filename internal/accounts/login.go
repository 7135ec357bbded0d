package accounts

import (
	"context"
	"net/netip"
	"strings"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// Failed attempts that are free, before each next one has to wait 1, 2, 4, ...
// seconds. An address may stand for a whole office or a proxy, hence more.
// There is no lock-out: nobody can shut an owner out for longer than maxWait.
const (
	freePerAccount = 5
	freePerAddress = 20
	maxWaitSeconds = 15 * 60
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

// LogIn checks an e-mail and a password sent from a network address. Faults:
// Unauthenticated, the same for an unknown e-mail and a wrong password, and
// equally slow; TooMany and, where too many log in at this moment, Unavailable,
// both with Details["retry_after"] in seconds.
func (s *Service) LogIn(ctx context.Context, email, password, addr string) (LoggedIn, error) {
	email = normalEmail(email)
	if email == "" || password == "" || len(password) > 4*maxPassword || !storable(email) {
		return LoggedIn{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	if err := s.passwords.room(); err != nil {
		return LoggedIn{}, err
	}
	try := s.attemptOf("account", email, addr)
	if err := s.take(ctx, try); err != nil {
		return LoggedIn{}, err
	}

	var found credentials
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		found, err = accountByEmailTx(ctx, tx, email)
		return err
	})
	if err != nil {
		return LoggedIn{}, err
	}
	ok, weak, err := s.passwords.check(ctx, found.hash, password)
	if err != nil {
		return LoggedIn{}, s.undo(ctx, try, err)
	}
	if !ok {
		return LoggedIn{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	stronger := ""
	if weak {
		if stronger, err = s.passwords.hash(ctx, password); err != nil {
			return LoggedIn{}, s.undo(ctx, try, err)
		}
	}
	err = s.db.InNone(ctx, func(tx db.Tx) error {
		if err := attemptRightTx(ctx, tx, try.byAddress, try.byAccount); err != nil || stronger == "" {
			return err
		}
		return rehashTx(ctx, tx, found.ID, found.hash, stronger)
	})
	if err != nil {
		return LoggedIn{}, err
	}
	return found.LoggedIn, nil
}

// attempt is one try at a secret, counted against its account and its address.
type attempt struct{ byAddress, byAccount []byte }

// attemptOf names an attempt; the kind tells what is tried.
func (s *Service) attemptOf(kind, account, addr string) attempt {
	return attempt{byAddress: s.subject("address", network(addr)), byAccount: s.subject(kind, account)}
}

// take counts an attempt as failed before it is tried, so that a thousand
// attempts at one moment are not a thousand first ones. Where the account or the
// address has to wait, nothing is counted. Fault: TooMany.
func (s *Service) take(ctx context.Context, try attempt) error {
	return s.db.InNone(ctx, func(tx db.Tx) error {
		for _, t := range []throttle{
			{subject: try.byAddress, free: freePerAddress},
			{subject: try.byAccount, free: freePerAccount},
		} {
			wait, err := takeAttemptTx(ctx, tx, t)
			if err != nil {
				return err
			}
			if wait > 0 {
				return fault.New(fault.TooMany, "Too many attempts. Wait a moment and try again.").
					With("retry_after", wait)
			}
		}
		return nil
	})
}

// undo takes an attempt back that failed for want of room: nothing was tried.
func (s *Service) undo(ctx context.Context, try attempt, err error) error {
	if !fault.Is(err, fault.Unavailable) {
		return err
	}
	undone := s.db.InNone(ctx, func(tx db.Tx) error { return attemptUndoneTx(ctx, tx, try.byAddress, try.byAccount) })
	if undone != nil {
		s.log.WarnContext(ctx, "a log in that was not tried stays counted", "error", undone)
	}
	return err
}

// confirmPassword checks the password of a person who is logged in, before a
// change of what protects the account. It returns the hash it fits. Faults:
// Validation with the field current, TooMany and Unavailable.
func (s *Service) confirmPassword(ctx context.Context, account ids.ID, password, addr string) (hash string, err error) {
	if password == "" || len(password) > 4*maxPassword {
		return "", wrongCurrent()
	}
	if err := s.passwords.room(); err != nil {
		return "", err
	}
	try := s.attemptOf("confirm", account.String(), addr)
	if err := s.take(ctx, try); err != nil {
		return "", err
	}
	err = s.db.InNone(ctx, func(tx db.Tx) error {
		_, hash, err = profileTx(ctx, tx, account)
		return err
	})
	if err != nil {
		return "", err
	}
	ok, _, err := s.passwords.check(ctx, hash, password)
	if err != nil {
		return "", s.undo(ctx, try, err)
	}
	if !ok {
		return "", wrongCurrent()
	}
	return hash, s.right(ctx, try)
}

func wrongCurrent() error { return fault.Invalid("current", "This is not your password.") }

// right clears the counts of an attempt that was right.
func (s *Service) right(ctx context.Context, try attempt) error {
	return s.db.InNone(ctx, func(tx db.Tx) error { return attemptRightTx(ctx, tx, try.byAddress, try.byAccount) })
}

// throttle is one subject whose failures are counted.
type throttle struct {
	subject []byte
	free    int32
}

func normalEmail(email string) string {
	return strings.ToLower(strings.TrimSpace(email))
}

// network is the part of an address that one attacker has to himself: all of an
// IPv4 address, the first half of an IPv6 one.
func network(addr string) string {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return "unknown"
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	prefix, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return prefix.String()
}
