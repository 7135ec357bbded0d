package twofactor

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"image/png"
	"strings"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/accounts/throttle"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Codes as RFC 6238 has them and every authenticator app knows them. A clock may
// be wrong by one step.
const (
	totpPeriod = 30 // seconds
	totpSteps  = 1
	totpSecret = 20 // bytes
	totpIssuer = "Fleetboard"
	qrSize     = 220 // pixels
)

// SecondFactor is a secret to put into an authenticator app.
type SecondFactor struct {
	Secret string // base 32, to type
	PNG    []byte // a QR code of the same, with the account's e-mail
}

// Begin makes a secret; the second factor is on when a code of it was
// confirmed. Faults: Validation with the field current for a wrong password;
// InvalidTransition where it is on already; TooMany and Unavailable as LogIn;
// Forbidden.
func (s *Service) Begin(ctx context.Context, who tenancy.Principal, password, addr string) error {
	if err := people.OnlyPeople(who); err != nil {
		return err
	}
	if _, err := s.login.ConfirmPassword(ctx, who.Account, password, addr); err != nil {
		return err
	}
	sealed := s.seals.Seal(totpPlace(who.Account), secrets.Random(totpSecret))
	return s.db.In(ctx, db.None, func(tx db.Tx) error {
		ok, err := beginTotpTx(ctx, tx, who.Account, sealed)
		if err == nil && !ok {
			err = fault.New(fault.InvalidTransition, "The second factor is on already. Turn it off first.")
		}
		return err
	})
}

// Pending returns the secret that waits for its first code, a quarter of
// an hour at most. Faults: NotFound, Forbidden.
func (s *Service) Pending(ctx context.Context, who tenancy.Principal) (SecondFactor, error) {
	if err := people.OnlyPeople(who); err != nil {
		return SecondFactor{}, err
	}
	var profile people.Profile
	var sealed []byte
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		if sealed, err = s.pendingTx(ctx, tx, who.Account); err != nil {
			return err
		}
		profile, _, err = people.ProfileTx(ctx, tx, who.Account)
		return err
	})
	if err != nil {
		return SecondFactor{}, err
	}
	secret, _, err := s.seals.Open(totpPlace(who.Account), sealed)
	if err != nil {
		return SecondFactor{}, fmt.Errorf("a second factor to confirm: %w", err)
	}
	return picture(profile.Email, secret)
}

func picture(email string, secret []byte) (SecondFactor, error) {
	key, err := totp.Generate(totp.GenerateOpts{
		Issuer: totpIssuer, AccountName: email, Period: totpPeriod, Secret: secret,
		Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1,
	})
	if err != nil {
		return SecondFactor{}, fmt.Errorf("second factor: %w", err)
	}
	img, err := key.Image(qrSize, qrSize)
	if err != nil {
		return SecondFactor{}, fmt.Errorf("draw the second factor: %w", err)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return SecondFactor{}, fmt.Errorf("draw the second factor: %w", err)
	}
	return SecondFactor{Secret: key.Secret(), PNG: out.Bytes()}, nil
}

// Confirm turns the second factor on with the first code of its
// secret, and returns the recovery codes, which nobody can read again. Faults:
// Validation with the field code; NotFound where no secret waits; TooMany with
// Details["retry_after"]; Forbidden.
func (s *Service) Confirm(ctx context.Context, who tenancy.Principal, code, addr string) ([]string, error) {
	if err := people.OnlyPeople(who); err != nil {
		return nil, err
	}
	try := s.throttle.At(throttle.Code, who.Account.String(), addr)
	if err := s.throttle.Take(ctx, try); err != nil {
		return nil, err
	}
	codes := newRecoveryCodes()
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		sealed, err := s.pendingTx(ctx, tx, who.Account)
		if err != nil {
			return err
		}
		step, ok, err := s.findStep(who.Account, sealed, plainCode(code))
		if err != nil {
			return err
		}
		if ok {
			ok, err = confirmTotpTx(ctx, tx, who.Account, sealed, step)
		}
		switch {
		case err != nil:
			return err
		case !ok:
			return fault.Invalid("code", "This code does not fit. Codes change every 30 seconds; check the clock of the device.")
		}
		if err := s.resealTx(ctx, tx, who.Account, sealed); err != nil {
			return err
		}
		if err := replaceRecoveryCodesTx(ctx, tx, who.Account, hashCodes(who.Account, codes)); err != nil {
			return err
		}
		if err := throttle.RightTx(ctx, tx, try); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.SecondFactorOn, nil)
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// Drop turns the second factor off. Faults: Validation with the field
// current for a wrong password; TooMany and Unavailable as LogIn; Forbidden.
func (s *Service) Drop(ctx context.Context, who tenancy.Principal, password, addr string) error {
	if err := people.OnlyPeople(who); err != nil {
		return err
	}
	if _, err := s.login.ConfirmPassword(ctx, who.Account, password, addr); err != nil {
		return err
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		was, err := dropTotpTx(ctx, tx, who.Account)
		if err != nil || !was {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.SecondFactorOff, nil)
	})
}

// CheckCode takes the second step of a log in: a code of the app, or a recovery code.
// Either is good once. Faults: Unauthenticated; TooMany with
// Details["retry_after"].
func (s *Service) CheckCode(ctx context.Context, account ids.ID, code string, from devices.Origin) error {
	var try throttle.Attempt
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		epoch, err := sessions.EpochTx(ctx, tx, account)
		if err != nil {
			return err
		}
		try, _ = s.throttle.From(throttle.Code, account.String(), account, epoch, from)
		return throttle.TakeTx(ctx, tx, try)
	})
	if err != nil {
		return err
	}
	ok, err := s.useCode(ctx, account, code)
	if err != nil {
		return err
	}
	if !ok {
		return fault.New(fault.Unauthenticated, "This code is not right, or it was used before. Wait for the next one.")
	}
	return s.throttle.Right(ctx, try)
}

// useCode takes a code if it is good; of the same one sent many times at once it
// takes one. From then on the earlier keys of the server are not needed for it.
func (s *Service) useCode(ctx context.Context, account ids.ID, code string) (ok bool, err error) {
	code = plainCode(code)
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		sealed, on, err := totpTx(ctx, tx, account)
		if err != nil || !on {
			return err
		}
		if ok, err = s.useCodeTx(ctx, tx, account, sealed, code); err != nil || !ok {
			return err
		}
		return s.resealTx(ctx, tx, account, sealed)
	})
	return ok && err == nil, err
}

func (s *Service) useCodeTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte, code string) (ok bool, err error) {
	if len(code) == recoveryDigits {
		return useRecoveryCodeTx(ctx, tx, account, recoveryHash(account, code))
	}
	step, fits, err := s.findStep(account, sealed, code)
	if err != nil || !fits {
		return false, err
	}
	return useTotpTx(ctx, tx, account, sealed, step)
}

// resealTx seals a second factor with the server's present key where an earlier
// one has sealed it. What no key opens stays as it is: a recovery code is good
// for it all the same.
func (s *Service) resealTx(ctx context.Context, tx db.Tx, account ids.ID, sealed []byte) error {
	place := totpPlace(account)
	if plain, present, err := s.seals.Open(place, sealed); err == nil && !present {
		return resealTotpTx(ctx, tx, account, sealed, s.seals.Seal(place, plain))
	}
	return nil
}

func (s *Service) pendingTx(ctx context.Context, tx db.Tx, account ids.ID) ([]byte, error) {
	sealed, ok, err := pendingTotpTx(ctx, tx, account)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.NotFound, "No second factor waits to be confirmed. Begin again.")
	}
	return sealed, nil
}

// findStep finds the time step, around now, that a code belongs to. All steps are
// compared, so that the time taken reveals nothing.
func (s *Service) findStep(account ids.ID, sealed []byte, code string) (step int64, ok bool, err error) {
	secret, _, err := s.seals.Open(totpPlace(account), sealed)
	if err != nil {
		return 0, false, fmt.Errorf("a second factor: %w", err)
	}
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
	now := s.now().Unix() / totpPeriod
	for at := now - totpSteps; at <= now+totpSteps; at++ {
		want, err := hotp.GenerateCodeCustom(text, uint64(max(0, at)),
			hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, false, fmt.Errorf("a second factor: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			step, ok = at, true
		}
	}
	return step, ok, nil
}

func totpPlace(account ids.ID) vault.Place {
	return vault.Place{Table: "account_totp", Column: "sealed", Row: account}
}

// plainCode returns a code as it is checked: people type spaces and dashes.
func plainCode(code string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, code)
}
