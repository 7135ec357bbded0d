package lease

import (
	"strings"
	"unicode/utf8"
)

// MaxQuestion bounds a question and its answer, in characters.
const MaxQuestion = 10_000

// NotWebAddress says of a field what it must be where IsWebAddress is false.
const NotWebAddress = "It must begin with https:// or http://."

// IsWebAddress reports whether pages may link to an address; "" is none.
func IsWebAddress(url string) bool {
	return url == "" || strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// IsPlain reports whether the database takes a text.
func IsPlain(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// IsText reports whether the database takes a text, and at most limit characters are
// in it.
func IsText(text string, limit int) bool {
	return utf8.RuneCountInString(text) <= limit && IsPlain(text)
}
