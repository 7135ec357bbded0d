package web

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/views/links"
)

// SafeNext returns a path of ours to go on to. Anything that a browser, or what
// stands before the server, could take for another site's address becomes the
// board, and so does the log in.
func SafeNext(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || !utf8.ValidString(next) || strings.ContainsFunc(next, misread) {
		return links.Board
	}
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !plainPath(u) || strings.ContainsFunc(u.Path, misread) {
		return links.Board
	}
	if u.Path == links.Login || u.Path == links.Home {
		return links.Board
	}
	return next
}

// misread are the characters that browsers leave out, and the backslash, which
// they read as a slash.
func misread(r rune) bool { return unicode.IsControl(r) || r == '\\' }

// plainPath reports whether a path means the same to everybody: no part of it is
// empty, goes up, stays where it is, or has a slash that is written otherwise.
func plainPath(u *url.URL) bool {
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
