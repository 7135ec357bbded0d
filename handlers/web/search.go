package web

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/views/ui"
)

// MaxFound is how many jobs a search shows.
const MaxFound = 8

// maxFilter bounds a filter's value, in bytes.
const maxFilter = 200

// FilterValue returns a filter of a page's query; "" where it is not valid.
func FilterValue(q url.Values, name string) string {
	return filterText(q.Get(name))
}

func filterText(text string) string {
	v := strings.TrimSpace(text)
	if len(v) > maxFilter || strings.ContainsRune(v, 0) {
		return ""
	}
	return strings.ToValidUTF8(v, "")
}

// maxValues is how many values of one name a filter takes.
const maxValues = 20

// FilterValues returns the values of a filter that takes several, each once and in order. What is
// not valid is left out. Validation for more than there may be.
func FilterValues(q url.Values, name string) ([]string, error) {
	var list []string
	for _, text := range q[name] {
		if v := filterText(text); v != "" {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list, CheckValues(name, list)
}

// Single returns a filter's only value as a list, an empty one where it filters nothing.
func Single(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// CheckValues refuses more values than a filter takes. Fault: Validation.
func CheckValues(name string, list []string) error {
	if len(list) > maxValues {
		return fault.New(fault.Validation, "The filter %s takes at most %d values; these are %d.", name, maxValues, len(list))
	}
	return nil
}

// KeepFields returns what an address of ours selects as hidden fields of a form, without some names.
func KeepFields(address string, without ...string) (list []ui.HiddenField) {
	u, err := url.Parse(address)
	if err != nil {
		return nil // our own links parse
	}
	q := u.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if slices.Contains(without, name) {
			continue
		}
		for _, v := range q[name] {
			list = append(list, ui.HiddenField{Name: name, Value: v})
		}
	}
	return list
}

// SearchText returns a query that can be searched for.
func SearchText(q string) string {
	q = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(q, "\x00", ""), ""))
	if len(q) > maxFilter {
		return strings.ToValidUTF8(q[:maxFilter], "")
	}
	return q
}
