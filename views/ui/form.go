package ui

import "github.com/a-h/templ"

// BadInput is the class of a refused field.
func BadInput(errs map[string]string, field string) string {
	if errs[field] != "" {
		return "input-bad"
	}
	return ""
}

// Described ties a field to its error and its hint.
func Described(errs map[string]string, field, hint string) templ.Attributes {
	attrs := templ.Attributes{}
	ids := hint
	if errs[field] != "" {
		attrs["aria-invalid"] = "true"
		if ids != "" {
			ids = " " + ids
		}
		ids = field + "-e" + ids
	}
	if ids != "" {
		attrs["aria-describedby"] = ids
	}
	return attrs
}

// DescribedBy ties a field to its error and its hint by the field's own id.
func DescribedBy(id, hint, err string) templ.Attributes {
	if hint != "" {
		hint = id + "-h"
	}
	return Described(map[string]string{id: err}, id, hint)
}
