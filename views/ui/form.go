package ui

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
)

// Form is a form as it was typed, and what of it was refused. Package handlers/form fills it
// by the table of the form's fields.
type Form struct {
	Fields []Field           // in their order on the page
	Typed  url.Values        // what stands in each field
	Errors map[string]string // one sentence for each refused field
	Error  string            // about the form as a whole
}

// Field is a field of a form: its name in the request, its label there and in the error
// summary, and what a browser lets a person type.
type Field struct {
	Name, Label string
	Note        string // beside the label: "may be left out"
	ID          string // of what takes the focus; "" is the name
	Kind        FieldKind
	Max         int      // characters; 0 is any number
	Low, High   int      // of a number
	Options     []Option // of a choice whose options are always the same
}

// FieldKind is what a field takes.
type FieldKind string

// The kinds of fields that are no plain text.
const (
	KindNumber FieldKind = "number" // with buttons for one more and one less
	KindWhole  FieldKind = "whole"  // a number that is typed
	KindAmount FieldKind = "amount" // of money
	KindDate   FieldKind = "date"
	KindMoment FieldKind = "moment"
)

// Text returns what stands in a field.
func (f Form) Text(name string) string { return f.Typed.Get(name) }

// Checked reports whether a box is ticked.
func (f Form) Checked(name string) bool { return f.Text(name) != "" }

// Field returns a field by its name.
func (f Form) Field(name string) Field {
	at := slices.IndexFunc(f.Fields, func(one Field) bool { return one.Name == name })
	if at < 0 {
		return Field{Name: name, Label: name}
	}
	return f.Fields[at]
}

// Faults returns the refused fields in their order on the page, and after them what belongs
// to none of them.
func (f Form) Faults() []Fault { return Faults(f.Errors, f.Fields...) }

// Attrs returns the attributes of a field that takes text: its name, its limits, and by what
// it is described.
func (f Form) Attrs(name, hint string) templ.Attributes {
	one, attrs := f.Field(name), DescribedBy(name, hint, f.Errors[name])
	attrs["id"], attrs["name"] = name, name
	if one.Max > 0 {
		attrs["maxlength"] = strconv.Itoa(one.Max)
	}
	switch one.Kind {
	case KindNumber:
		attrs["type"], attrs["min"], attrs["max"] = "number", strconv.Itoa(one.Low), strconv.Itoa(one.High)
	case KindWhole:
		attrs["inputmode"] = "numeric"
		if one.High > 0 {
			attrs["maxlength"] = strconv.Itoa(len(strconv.Itoa(one.High)))
		}
	case KindAmount:
		attrs["inputmode"] = "decimal"
	case KindDate:
		attrs["type"] = "date"
	case KindMoment:
		attrs["type"] = "datetime-local"
	}
	return attrs
}

// Choices returns the options of a field, its own where options is nil, with the chosen one
// marked.
func (f Form) Choices(name string, options []Option) []Option {
	if options == nil {
		options = f.Field(name).Options
	}
	options = slices.Clone(options)
	for i := range options {
		options[i].Selected = options[i].Value == f.Text(name)
	}
	return options
}

// Word returns the label of the option that stands in a field.
func (f Form) Word(name string) string {
	for _, o := range f.Field(name).Options {
		if o.Value == f.Text(name) {
			return o.Label
		}
	}
	return f.Text(name)
}

// Fault is a refused field.
type Fault struct{ ID, Label, Text string }

// Faults returns the refused fields in their order on the page, and after them what
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

// Only returns the errors of these fields, of a page with several forms.
func Only(errs map[string]string, fields ...string) map[string]string {
	own := map[string]string{}
	for _, name := range fields {
		own[name] = errs[name]
	}
	return own
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// sumUp returns the sentence of an error summary: the form's own, else how many fields were
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

// BadInput returns the class of a refused field.
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
