package people

import (
	"fmt"
	"net/mail"
	"strings"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/accounts/passwords"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// NormalEmail returns an address as it is stored and looked up.
func NormalEmail(email string) string {
	return strings.ToLower(strings.TrimSpace(email))
}

// OnlyPeople refuses agents, enrolment tokens and loops.
func OnlyPeople(who tenancy.Principal) error {
	if who.Kind != tenancy.KindPerson {
		return fault.New(fault.Forbidden, "Only a person has an account.")
	}
	return nil
}

// NameProblem returns what is wrong with a person's name, "" if nothing.
func NameProblem(name string) string {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxName || !Storable(name) {
		return fmt.Sprintf("Use 1 to %d characters.", MaxName)
	}
	return ""
}

// Cut makes text from a browser fit to be stored.
func Cut(text string, runes int) string {
	out := make([]rune, 0, min(len(text), runes))
	for _, r := range text {
		if len(out) == runes {
			break
		}
		if r != 0 {
			out = append(out, r)
		}
	}
	return string(out)
}

// The limits of what a person is called and reached by, in characters.
const (
	MaxName  = 100
	MinEmail = 3
	MaxEmail = 254
)

// Validate checks what a new account is made of. Fault: Validation with the fields
// name, email, password.
func Validate(name, email, password string) error {
	fields := map[string]string{}
	if text := NameProblem(name); text != "" {
		fields["name"] = text
	}
	if text := EmailProblem(email); text != "" {
		fields["email"] = text
	}
	if text := passwords.Problem(password, email); text != "" {
		fields["password"] = text
	}
	if len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}

// EmailProblem returns what is wrong with an address in lower case, "" if nothing.
func EmailProblem(email string) string {
	parsed, err := mail.ParseAddress(email)
	n := utf8.RuneCountInString(email)
	if err != nil || parsed.Address != email || n < MinEmail || n > MaxEmail || !Storable(email) {
		return "Write an address such as ada@example.org."
	}
	return ""
}

// Storable reports whether PostgreSQL can hold the text.
func Storable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
