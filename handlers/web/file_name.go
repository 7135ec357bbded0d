package web

import "strings"

// FileName returns a key as the name of a file, without characters that mean something in a path or
// a header.
func FileName(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, Beginning(key, 64))
}
