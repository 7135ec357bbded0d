package twofactor

import (
	"context"
	"strings"

	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Prove checks the password of the caller, or a code of the second factor: what
// holds only digits is a code where the factor is on. Faults: Validation with the
// field current; TooMany and Unavailable as LogIn; Forbidden.
func (s *Service) Prove(ctx context.Context, who tenancy.Principal, secret string, from devices.Origin) error {
	profile, err := s.people.Profile(ctx, who)
	if err != nil {
		return err
	}
	if profile.SecondFactorSince == nil || !looksLikeCode(secret) {
		_, err := s.login.ConfirmPassword(ctx, who.Account, secret, from.Address)
		return err
	}
	err = s.CheckCode(ctx, who.Account, secret, from)
	if f := fault.From(err); err != nil && f.Code == fault.Unauthenticated {
		return fault.Invalid("current", "%s", f.Message)
	}
	return err
}

// looksLikeCode reports whether a text can be a code and no password: six digits
// are too short for one, and a recovery code is written in groups.
func looksLikeCode(text string) bool {
	digits := len(plainCode(text))
	rest := strings.Trim(text, "0123456789 -")
	return rest == "" && (digits == 6 || digits == recoveryDigits)
}
