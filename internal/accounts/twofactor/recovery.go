package twofactor

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	recoveryCodes = 10
	// recoveryDigits are 66 bits, which nobody guesses, so that a fast hash is
	// right. They are digits because phones show a field for codes with digits only.
	recoveryDigits = 20
)

// NewRecoveryCodes ends the recovery codes there are and returns ten others,
// which nobody can read again. Faults: Validation with the field current for a
// wrong password; InvalidTransition where the second factor is off; TooMany and
// Unavailable as LogIn; Forbidden.
func (s *Service) NewRecoveryCodes(ctx context.Context, who tenancy.Principal, password, addr string) ([]string, error) {
	if err := people.OnlyPeople(who); err != nil {
		return nil, err
	}
	if _, err := s.login.ConfirmPassword(ctx, who.Account, password, addr); err != nil {
		return nil, err
	}
	codes := newRecoveryCodes()
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		_, on, err := totpTx(ctx, tx, who.Account)
		if err != nil {
			return err
		}
		if !on {
			return fault.New(fault.InvalidTransition, "Recovery codes belong to a second factor, and it is off.")
		}
		return replaceRecoveryCodesTx(ctx, tx, who.Account, hashCodes(who.Account, codes))
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// newRecoveryCodes are four groups of five digits each.
func newRecoveryCodes() []string {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(recoveryDigits), nil)
	list := make([]string, 0, recoveryCodes)
	for range recoveryCodes {
		// The operating system's generator does not fail; see random.
		n, _ := rand.Int(rand.Reader, limit)
		digits := fmt.Sprintf("%0*d", recoveryDigits, n)
		list = append(list, strings.Join([]string{digits[:5], digits[5:10], digits[10:15], digits[15:]}, "-"))
	}
	return list
}

// hashCodes returns what is stored of recovery codes.
func hashCodes(account ids.ID, codes []string) [][]byte {
	list := make([][]byte, 0, len(codes))
	for _, code := range codes {
		list = append(list, recoveryHash(account, plainCode(code)))
	}
	return list
}

// recoveryHash is bound to the account: the same code of two people, if there
// ever is one, does not look so.
func recoveryHash(account ids.ID, code string) []byte {
	return secrets.Hash("recovery " + account.String() + " " + code)
}
