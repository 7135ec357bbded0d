package links

import (
	"net/url"
	"slices"
)

// Toggle returns a list with a value that it does not have, or without one that it has, in order.
func Toggle(list []string, value string) []string {
	rest := slices.DeleteFunc(slices.Clone(list), func(v string) bool { return v == value })
	if len(rest) == len(list) {
		rest = append(rest, value)
	}
	slices.Sort(rest)
	return rest
}

// setAll sets the values of a name, where there are any.
func setAll(v url.Values, name string, list []string) {
	if len(list) > 0 {
		v[name] = slices.Clone(list)
	}
}
