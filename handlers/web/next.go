package web

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/views/links"
)

// SafeNext returns a path of this site to go on to. Anything that a browser or a proxy could take
// for another site's address becomes the board, and so does the log in.
func SafeNext(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || !utf8.ValidString(next) || strings.ContainsFunc(next, isMisread) {
		return links.Board
	}
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !isPlainPath(u) || strings.ContainsFunc(u.Path, isMisread) {
		return links.Board
	}
	if u.Path == links.Login || u.Path == links.Home {
		return links.Board
	}
	return next
}

// isMisread reports whether browsers drop a character or, as the backslash, read it as a slash.
func isMisread(r rune) bool { return unicode.IsControl(r) || r == '\\' }

// isPlainPath reports whether a path means the same to all programs: no part of it is empty, "." or
// "..", or has an escaped slash.
func isPlainPath(u *url.URL) bool {
	if strings.Contains(strings.ToLower(u.EscapedPath()), "%2f") {
		return false
	}
	// A slash at the end leaves an empty part, which is none.
	for part := range strings.SplitSeq(strings.TrimSuffix(u.Path[1:], "/"), "/") {
		if part == "." || part == ".." || part == "" && u.Path != "/" {
			return false
		}
	}
	return true
}
