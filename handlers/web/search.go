package web

import (
	"net/url"
	"strings"
)

// MaxFound is how many jobs a search shows.
const MaxFound = 8

// maxFilter bounds a filter's value, in bytes.
const maxFilter = 200

// FilterValue returns a filter of a page's query; "" where it is not valid.
func FilterValue(q url.Values, name string) string {
	v := strings.TrimSpace(q.Get(name))
	if len(v) > maxFilter || strings.ContainsRune(v, 0) {
		return ""
	}
	return strings.ToValidUTF8(v, "")
}

// SearchText returns a query that can be searched for.
func SearchText(q string) string {
	q = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(q, "\x00", ""), ""))
	if len(q) > maxFilter {
		return strings.ToValidUTF8(q[:maxFilter], "")
	}
	return q
}
