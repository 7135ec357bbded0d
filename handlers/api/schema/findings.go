package schema

import (
	"fmt"
	"maps"

	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// maxFindings bounds how much of a bad request is reported.
	maxFindings = 50
	// maxName bounds the name of a field, in characters.
	maxName = 120
)

// findings gathers what is wrong with a request, by field: what makes it
// unreadable apart from values that do not fit.
type findings struct {
	malformed map[string]string
	invalid   map[string]string
}

func (f *findings) unreadable(field, format string, args ...any) {
	note(&f.malformed, field, format, args...)
}

func (f *findings) unfit(field, format string, args ...any) {
	note(&f.invalid, field, format, args...)
}

// twice notes a field that there is twice, whatever else is wrong with it.
func (f *findings) twice(field string) {
	delete(f.malformed, short(field))
	f.unreadable(field, "It must be given once.")
}

func note(to *map[string]string, field, format string, args ...any) {
	if *to == nil {
		*to = map[string]string{}
	}
	field = short(field)
	if _, taken := (*to)[field]; taken || len(*to) == maxFindings {
		return
	}
	(*to)[field] = fmt.Sprintf(format, args...)
}

// short cuts the name of a field, which the sender may have made of any length.
func short(field string) string {
	n := 0
	for i := range field {
		if n++; n > maxName {
			return field[:i] + "…"
		}
	}
	return field
}

// fault is Malformed, else Validation, else nil.
func (f *findings) fault() error {
	if len(f.malformed) > 0 {
		refusal := fault.New(fault.Malformed, "Some fields are unknown or of the wrong type.")
		refusal.Fields = maps.Clone(f.malformed)
		for field, problem := range f.invalid {
			if _, told := refusal.Fields[field]; !told {
				refusal.Fields[field] = problem
			}
		}
		return refusal
	}
	if len(f.invalid) > 0 {
		return fault.InvalidFields(f.invalid)
	}
	return nil
}
