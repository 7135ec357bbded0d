package api

import (
	"encoding/base64"
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/natural"
)

// defaultLimit is how many items a page has where the call does not say.
const defaultLimit = 50

func limit(asked *int) int {
	if asked == nil {
		return defaultLimit
	}
	return *asked
}

// page cuts a page out of a list that is at hand as a whole, in the order of its
// items. key names an item; the cursor holds the last one shown, and after
// reports whether an item comes later than the one with that key.
func page[T any](all []T, cursor *string, asked *int, key func(T) string, after func(item T, last string) bool) ([]T, string, error) {
	last, err := base64.RawURLEncoding.DecodeString(value(cursor))
	if err != nil {
		return nil, "", fault.Invalid("cursor", "It must be one that this server gave out.")
	}
	rest := all
	for len(last) > 0 && len(rest) > 0 && !after(rest[0], string(last)) {
		rest = rest[1:]
	}
	n := limit(asked)
	if len(rest) <= n {
		return rest, "", nil
	}
	return rest[:n], base64.RawURLEncoding.EncodeToString([]byte(key(rest[n-1]))), nil
}

// pageByName cuts a page out of a list, which it puts into the natural order of names.
func pageByName[T any](all []T, cursor *string, asked *int, name func(T) string) ([]T, string, error) {
	slices.SortFunc(all, func(a, b T) int { return natural.Compare(name(a), name(b)) })
	return page(all, cursor, asked, name, func(item T, last string) bool { return natural.Compare(name(item), last) > 0 })
}

// mapSlice returns what convert makes of each item.
func mapSlice[D, M any](in []D, convert func(D) M) []M {
	out := make([]M, 0, len(in))
	for _, d := range in {
		out = append(out, convert(d))
	}
	return out
}
