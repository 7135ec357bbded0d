package web

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Plural returns a number with its noun: "1 seat", "1,284 seats".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return ui.Count(n) + " " + many
}

// JoinAnd joins names: "a", "a and b", "a, b and c".
func JoinAnd(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// MaxListed is how many keys or names a sentence lists.
const MaxListed = 3

// JoinSpans is JoinAnd for spans; beyond MaxListed it says how many more there are.
func JoinSpans(list []ui.Span) []ui.Span {
	if hidden := len(list) - MaxListed; hidden > 0 {
		list = append(slices.Clone(list[:MaxListed]), ui.T(strconv.Itoa(hidden)+" more"))
	}
	var out []ui.Span
	for i, s := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			out = append(out, ui.T(" and "))
		default:
			out = append(out, ui.T(", "))
		}
		out = append(out, s)
	}
	return out
}

// Percent returns a progress as the views take it; -1 where it is not known.
func Percent(p *int) int {
	if p == nil {
		return -1
	}
	return *p
}

// PercentWord returns a progress for a table; "" where it is not known.
func PercentWord(p *int) string {
	if p == nil {
		return ""
	}
	return strconv.Itoa(*p) + "%"
}

// FirstLine returns the beginning of a text, at most n characters of its first line.
func FirstLine(text string, n int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:n-1])) + "…"
}

// Nth returns an ordinal number: "third"; from the tenth on in digits.
func Nth(n int) string {
	words := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
	if n >= 1 && n <= len(words) {
		return words[n-1]
	}
	return strconv.Itoa(n) + "th"
}

// OrWord returns a value of a list of facts, or the word for an empty one.
func OrWord(value, none string) ui.Sentence {
	if value == "" {
		return ui.Text(none)
	}
	return ui.Say(ui.Key(value))
}

// MaxSub is how much of a text the second line of a row shows, in characters.
const MaxSub = 80

// MaxQuote is how much of a person's or an agent's words a sentence quotes, in characters.
const MaxQuote = 120

// Beginning returns the first characters of a text, with an ellipsis where more follow.
func Beginning(text string, maxLength int) string {
	n := 0
	for i := range text {
		n++
		if n > maxLength {
			return text[:i] + "…"
		}
	}
	return text
}

// RoleWord returns a role with its article: "an admin".
func RoleWord(r tenancy.Role) string {
	if r == tenancy.RoleOwner || r == tenancy.RoleAdmin {
		return "an " + string(r)
	}
	return "a " + string(r)
}

// Capital returns a word with its first letter in upper case.
func Capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// Counted returns a number with its thousands separated: 10,000.
func Counted(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
