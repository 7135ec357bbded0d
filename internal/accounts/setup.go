package accounts

import (
	"context"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// setupLinkLife is how long a set-up link can be used.
const setupLinkLife = 7 * 24 * time.Hour

// The limits of what a person is called and reached by, in characters.
const (
	MaxName  = 100
	minEmail = 3
	MaxEmail = 254
)

// SetUpAccount reports whether a set-up link's token can still be used.
func (s *setupService) SetUpAccount(ctx context.Context, token string) (bool, error) {
	if kind, ok := secretKind(token); !ok || kind != secretSetup {
		return false, nil
	}
	var valid bool
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		valid, err = setupLinkValidTx(ctx, tx, secretHash(token))
		return err
	})
	return valid, err
}

// SetUp names the account of a set-up link and gives it a password of 12..128
// characters. The link is used up, and the account's sessions end. Faults:
// NotFound for a link that is unknown, used or expired; Validation with the
// fields name, email, password, after which the link can still be used.
func (s *setupService) SetUp(ctx context.Context, token, name, email, password string) (Account, error) {
	name, email = strings.TrimSpace(name), normalEmail(email)
	valid, err := s.SetUpAccount(ctx, token)
	if err != nil {
		return Account{}, err
	}
	if !valid {
		return Account{}, linkOver()
	}
	if err := validatePerson(name, email, password); err != nil {
		return Account{}, err
	}
	hash, err := s.passwords.hash(ctx, asker{name: "set-up", known: true}, password)
	if err != nil {
		return Account{}, err
	}
	var done Account
	err = s.db.InNone(ctx, func(tx db.Tx) error {
		account, ok, err := useSetupLinkTx(ctx, tx, secretHash(token))
		if err != nil {
			return err
		}
		if !ok {
			return linkOver()
		}
		done = Account{ID: account, Email: email, Name: name}
		return setUpTx(ctx, tx, done, hash)
	})
	if fault.Is(err, fault.AlreadyExists) {
		return Account{}, fault.Invalid("email", "This e-mail cannot be taken. Choose another one.")
	}
	if err != nil {
		return Account{}, err
	}
	return done, nil
}

func linkOver() error {
	return fault.New(fault.NotFound,
		"This set-up link is not valid any more. A link works once and for seven days; restart the server for a new one.")
}

func validatePerson(name, email, password string) error {
	fields := map[string]string{}
	if text := checkName(name); text != "" {
		fields["name"] = text
	}
	if text := checkEmail(email); text != "" {
		fields["email"] = text
	}
	if text := checkPassword(password, email); text != "" {
		fields["password"] = text
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// checkEmail returns what is wrong with an address in lower case, "" if nothing.
func checkEmail(email string) string {
	parsed, err := mail.ParseAddress(email)
	n := utf8.RuneCountInString(email)
	if err != nil || parsed.Address != email || n < minEmail || n > MaxEmail || !storable(email) {
		return "Write an address such as ada@example.org."
	}
	return ""
}

// storable reports whether PostgreSQL can hold the text.
func storable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}

// freshSetupLink ends the account's older links and returns the token of a new
// one.
func (s *setupService) freshSetupLink(ctx context.Context, account ids.ID) (string, error) {
	token := newSecret(secretSetup)
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		// Two at the same moment would not see each other's link.
		if err := lockTx(ctx, tx, "set-up link "+account.String()); err != nil {
			return err
		}
		return replaceSetupLinkTx(ctx, tx, account, secretHash(token), setupLinkLife)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}
