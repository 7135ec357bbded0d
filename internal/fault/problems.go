package fault

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problems gathers what is wrong with an input, by field; the first finding on
// a field stays.
type Problems map[string]string

// maxToken is how long a capability may be, in characters.
const maxToken = 64

var (
	tokenForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._+-]*(:[A-Za-z0-9][A-Za-z0-9._+/@-]*)?$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)
)

// Add notes a problem of a field.
func (p Problems) Add(field, format string, args ...any) {
	if _, taken := p[field]; !taken {
		p[field] = fmt.Sprintf(format, args...)
	}
}

// Err is Validation with all problems, nil where there are none.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return InvalidFields(p)
}

// Line checks one line of text of at most limit characters.
func (p Problems) Line(field, s string, limit int) {
	p.Text(field, s, limit)
	if strings.ContainsFunc(s, unicode.IsControl) {
		p.Add(field, "It must not contain line breaks or control characters.")
	}
}

// Text checks text of at most limit characters, line breaks allowed. PostgreSQL
// can hold no NUL.
func (p Problems) Text(field, s string, limit int) {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		p.Add(field, "It must hold text only: UTF-8, without NUL characters.")
		return
	}
	if n := utf8.RuneCountInString(s); n > limit {
		p.Add(field, "It must have at most %d characters (it has %d).", limit, n)
	}
}

// Name checks a name of at most limit characters; an empty one is no problem.
func (p Problems) Name(field, s string, limit int) {
	if s == "" {
		return
	}
	p.Line(field, s, limit)
	if !nameForm.MatchString(s) {
		p.Add(field, "It must be a name: letters, digits and . _ / @ -, beginning with a letter or digit.")
	}
}

// Number checks that n lies between two bounds, both possible.
func (p Problems) Number(field string, n, low, high int) {
	if n < low || n > high {
		p.Add(field, "It must be %d to %d (it is %d).", low, high, n)
	}
}

// List checks a list of at most entries lines, none of them empty.
func (p Problems) List(field string, list []string, entries, limit int) {
	if len(list) > entries {
		p.Add(field, "It must have at most %d entries.", entries)
		return
	}
	for i, s := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		p.Line(at, s, limit)
		if strings.TrimSpace(s) == "" {
			p.Add(at, "It must not be empty.")
		}
	}
}

// Capabilities checks a list of at most entries capability tokens.
func (p Problems) Capabilities(field string, list []string, entries int) {
	if len(list) > entries {
		p.Add(field, "It must have at most %d entries.", entries)
		return
	}
	for i, token := range list {
		if !IsCapability(token) {
			p.Add(fmt.Sprintf("%s[%d]", field, i),
				"It must be a capability like has:git or node:20: at most 64 characters, in lower case before the colon.")
		}
	}
}

// IsCapability reports whether a token looks like a capability: has:git, node:20,
// repo:acme/web.
func IsCapability(token string) bool {
	repo, isOfRepo := strings.CutPrefix(token, "repo:")
	return len(token) <= maxToken && tokenForm.MatchString(token) && (!isOfRepo || isRepo(repo))
}
