package ui

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from agents and people safe to show in one line: control
// characters (ANSI escapes too) become their visible pictures, bidi controls,
// zero-width and other invisible characters become "�", line breaks and tabs
// become spaces. Bytes that are not UTF-8 become "�".
func Clean(s string) string { return clean(s, false) }

// CleanLines is Clean for text that keeps its line breaks and tabs: JSON,
// errors, questions.
func CleanLines(s string) string { return clean(strings.ReplaceAll(s, "\r\n", "\n"), true) }

func clean(s string, lines bool) string {
	if plainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		b.WriteRune(visible(r, lines))
	}
	return b.String()
}

func visible(r rune, lines bool) rune {
	switch {
	case r == '\n' || r == '\t':
		if lines {
			return r
		}
		return ' '
	case r == '\r':
		return ' '
	case r < 0x20:
		return 0x2400 + r // the picture of the control character: U+241B for ESC
	case r == 0x7f:
		return '␡'
	case r == utf8.RuneError, unicode.Is(unicode.Cc, r), invisible(r):
		return '�'
	default:
		return r
	}
}

// invisible says whether a rune changes the text around it without being seen:
// bidi controls, joiners between words, tags, fillers, line separators.
func invisible(r rune) bool {
	switch r {
	case 0x200C, 0x200D: // joiners: needed by several scripts and by emoji
		return false
	case 0x2028, 0x2029, 0x115F, 0x1160, 0x3164, 0xFFA0:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
