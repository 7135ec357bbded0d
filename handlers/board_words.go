package handlers

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fleetboard/views/ui"
)

// plural writes a number with its noun: "1 seat", "1,284 seats".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return ui.Count(n) + " " + many
}

// and joins names: "a", "a and b", "a, b and c".
func and(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// maxListed is how many keys or names one sentence holds.
const maxListed = 3

// andSpans is and for spans; beyond maxListed it says how many more.
func andSpans(list []ui.Span) []ui.Span {
	if hidden := len(list) - maxListed; hidden > 0 {
		list = append(slices.Clone(list[:maxListed]), ui.T(strconv.Itoa(hidden)+" more"))
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

// percent is a progress as the views take it: -1 where nobody said.
func percent(p *int) int {
	if p == nil {
		return -1
	}
	return *p
}

// percentWord is a progress in a table, "" where nobody said.
func percentWord(p *int) string {
	if p == nil {
		return ""
	}
	return strconv.Itoa(*p) + "%"
}

// until names a coming moment in a sentence, where the reader's zone is not
// known: "18:00 UTC", or with the day where it is not today.
func until(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04 UTC")
	}
	return at.Format("2 Jan 15:04 UTC")
}

// firstLine is the beginning of a text, at most n characters of its first line.
func firstLine(text string, n int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:n-1])) + "…"
}

// nth is the word for a place in a row: "third"; numbers from the tenth on.
func nth(n int) string {
	words := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"}
	if n >= 1 && n <= len(words) {
		return words[n-1]
	}
	return strconv.Itoa(n) + "th"
}

// orWord is a value of a list of facts, or the word for none.
func orWord(value, none string) ui.Sentence {
	if value == "" {
		return ui.Text(none)
	}
	return ui.Say(ui.Key(value))
}
