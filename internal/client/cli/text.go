package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// clean takes out of a text what would control a terminal or turn the direction of writing;
// lines and tabs stay. Agents write the texts that are shown, so they are not trusted.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && controls(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// cleanLine is clean on one line.
func cleanLine(text string) string {
	return strings.Join(strings.Fields(clean(strings.ReplaceAll(text, "\r", "\n"))), " ")
}

// controls reports whether a rune is a control character, C1 ones as well, or changes the
// direction of writing.
func controls(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u061c', r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return r == '\u2028' || r == '\u2029'
}

// escapeControls writes such runes in JSON as \uXXXX, which is the same JSON.
func escapeControls(json string) string {
	var b strings.Builder
	for _, r := range json {
		if controls(r) && r != '\n' && r != '\t' && r != '\r' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ago says when something was or will be, as people do.
func (s *screen) ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	since := s.env.Now().Sub(at)
	if since < 0 {
		if -since < time.Second {
			return "now"
		}
		return "in " + span(-since)
	}
	if since < 5*time.Second {
		return "just now"
	}
	if since > 60*24*time.Hour {
		return at.Local().Format("2 Jan 2006")
	}
	return span(since) + " ago"
}

// agoOrEmpty is ago of a time that may be missing.
func (s *screen) agoOrEmpty(at *time.Time) string {
	if at == nil {
		return ""
	}
	return s.ago(*at)
}

// span says how long something is, in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
