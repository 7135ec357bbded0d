package ui

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// Field is a field of a form as its error summary names it.
type Field struct {
	Name, Label string
	ID          string // of what takes the focus; "" is the name
}

// Fault is a refused field.
type Fault struct{ ID, Label, Text string }

// Faults are the refused fields in their order on the page, and after them what
// belongs to none of them.
func Faults(errs map[string]string, fields ...Field) []Fault {
	left := maps.Clone(errs)
	var list []Fault
	for _, f := range fields {
		text := left[f.Name]
		delete(left, f.Name)
		if text == "" {
			continue
		}
		if f.ID == "" {
			f.ID = f.Name
		}
		list = append(list, Fault{ID: f.ID, Label: f.Label, Text: text})
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if left[name] != "" {
			list = append(list, Fault{Label: capital(strings.ReplaceAll(name, "_", " ")), Text: left[name]})
		}
	}
	return list
}

// Only are the errors of these fields, of a page with several forms.
func Only(errs map[string]string, fields ...string) map[string]string {
	own := map[string]string{}
	for _, name := range fields {
		own[name] = errs[name]
	}
	return own
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// sumUp is the sentence of an error summary: the form's own, else how many fields were
// refused.
func sumUp(text string, faults int) string {
	switch {
	case text != "":
		return text
	case faults == 1:
		return "Nothing was saved. One field needs another value."
	default:
		return "Nothing was saved. " + strconv.Itoa(faults) + " fields need another value."
	}
}

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
