package passwords

import (
	"fmt"
	"unicode/utf8"
)

// MinLength and MaxLength bound a password's length in characters. Length makes a
// password strong; the only other rule refuses those that everybody tries first.
const (
	MinLength = 12
	MaxLength = 128
)

// Problem returns what is wrong with a password as a new one of the account
// with these e-mails, "" if nothing is.
func Problem(password string, emails ...string) string {
	switch n := utf8.RuneCountInString(password); {
	case !utf8.ValidString(password):
		return "Use letters, digits and signs only."
	case n == 0:
		return fmt.Sprintf("It is empty. Use at least %d characters.", MinLength)
	case n < MinLength:
		return fmt.Sprintf("Use at least %d characters.", MinLength)
	case n > MaxLength:
		return fmt.Sprintf("Use at most %d characters.", MaxLength)
	case common(password, emails...):
		return "This is one of the first passwords that are tried. A sentence of your own is better."
	default:
		return ""
	}
}
