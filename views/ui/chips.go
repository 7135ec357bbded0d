package ui

import "strings"

func joinClean(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = Clean(n)
	}
	return strings.Join(out, ", ")
}
