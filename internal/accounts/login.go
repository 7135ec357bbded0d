package accounts

import (
	"context"
	"net/netip"
	"strings"

	"fleetboard/db"
	"fleetboard/internal/fault"
)

// Failed log ins that are free, before each next one has to wait 1, 2, 4, ...
// seconds. An address may stand for a whole office or a proxy, hence more.
// There is no lock-out: nobody can shut an owner out for longer than maxWait.
const (
	freePerAccount = 5
	freePerAddress = 20
	maxWaitSeconds = 15 * 60
)

// wrongLogin is the one answer to every wrong log in.
const wrongLogin = "This e-mail and password do not fit together."

// LogIn checks an e-mail and a password sent from a network address. Faults:
// Unauthenticated, the same for an unknown e-mail and a wrong password, and
// equally slow; TooMany with Details["retry_after"] in seconds.
func (s *Service) LogIn(ctx context.Context, email, password, addr string) (Account, error) {
	email = normalEmail(email)
	if email == "" || password == "" || len(password) > 4*maxPassword || !storable(email) {
		return Account{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	byAccount, byAddress := s.subject("account", email), s.subject("address", network(addr))
	if err := s.takeAttempt(ctx, byAddress, byAccount); err != nil {
		return Account{}, err
	}

	var found Account
	var hash string
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		found, hash, err = accountByEmailTx(ctx, tx, email)
		return err
	})
	if err != nil {
		return Account{}, err
	}
	ok, weak, err := s.passwords.check(ctx, hash, password)
	if err != nil {
		return Account{}, err
	}
	if !ok {
		return Account{}, fault.New(fault.Unauthenticated, wrongLogin)
	}
	stronger := ""
	if weak {
		if stronger, err = s.passwords.hash(ctx, password); err != nil {
			return Account{}, err
		}
	}
	err = s.db.InNone(ctx, func(tx db.Tx) error {
		if err := attemptRightTx(ctx, tx, byAddress, byAccount); err != nil || stronger == "" {
			return err
		}
		return rehashTx(ctx, tx, found.ID, hash, stronger)
	})
	if err != nil {
		return Account{}, err
	}
	return found, nil
}

// takeAttempt counts the attempt as failed before it is tried, so that a
// thousand attempts at one moment are not a thousand first ones. Where the
// account or the address has to wait, nothing is counted.
func (s *Service) takeAttempt(ctx context.Context, byAddress, byAccount []byte) error {
	return s.db.InNone(ctx, func(tx db.Tx) error {
		for _, t := range []throttle{
			{subject: byAddress, free: freePerAddress},
			{subject: byAccount, free: freePerAccount},
		} {
			wait, err := takeAttemptTx(ctx, tx, t)
			if err != nil {
				return err
			}
			if wait > 0 {
				return fault.New(fault.TooMany, "Too many attempts to log in. Wait a moment and try again.").
					With("retry_after", wait)
			}
		}
		return nil
	})
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
