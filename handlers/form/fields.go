package form

import (
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Custom returns a field with functions that read and write its text. set returns what is wrong
// with a text, "" for nothing.
func Custom[T any](name, label string, maxLength int, get func(*T) string, set func(*T, string) (why string)) Field[T] {
	f := WriteOnly(name, label, maxLength, set)
	f.get = func(v *T) []string { return []string{get(v)} }
	return f
}

// WriteOnly returns a field that is empty in a form that is filled from a T.
func WriteOnly[T any](name, label string, maxLength int, set func(*T, string) (why string)) Field[T] {
	return Field[T]{
		Field: ui.Field{Name: name, Label: label, Max: maxLength},
		read:  trimLine,
		get:   func(*T) []string { return nil },
		set:   func(v *T, in []string) string { return set(v, first(in)) },
	}
}

// Line returns a field of one line.
func Line[T any, V ~string](name, label string, maxLength int, field func(*T) *V) Field[T] {
	return Custom(name, label, maxLength, func(v *T) string { return string(*field(v)) }, func(v *T, text string) string {
		*field(v) = V(text)
		return ""
	})
}

// Text returns a field of several lines, which keeps its blanks.
func Text[T any](name, label string, maxLength int, field func(*T) *string) Field[T] {
	return Line(name, label, maxLength, field).Lines()
}

// Lines returns the field as one of several lines, which keeps its blanks.
func (f Field[T]) Lines() Field[T] {
	f.read = func(in []string) []string { return []string{strings.ReplaceAll(first(in), "\r\n", "\n")} }
	return f
}

// Choice returns a field whose value is chosen.
func Choice[T any, V ~string](name, label string, field func(*T) *V) Field[T] {
	return Line(name, label, 0, field)
}

// Box returns a box to tick.
func Box[T any](name, label string, field func(*T) *bool) Field[T] {
	return Custom(name, label, 0, func(v *T) string {
		if *field(v) {
			return "1"
		}
		return ""
	}, func(v *T, text string) string {
		*field(v) = text != ""
		return ""
	})
}

// Number returns a field of a whole number from low to high; the number is nil for an empty text.
func Number[T any](name, label string, low, high int, field func(*T) **int) Field[T] {
	f := Custom(name, label, 0, func(v *T) string {
		if n := *field(v); n != nil {
			return strconv.Itoa(*n)
		}
		return ""
	}, func(v *T, text string) string {
		wrong := map[string]string{}
		*field(v) = web.NumberChoice(name, text, low, high, wrong)
		return wrong[name]
	})
	f.Low, f.High = low, high
	return f
}

// List returns a field of several texts; split separates what was sent. get is nil in a form
// that is never filled.
func List[T any](name, label string, split func([]string) []string, get func(*T) []string, set func(*T, []string)) Field[T] {
	return Field[T]{Field: ui.Field{Name: name, Label: label}, read: split, get: get,
		set: func(v *T, in []string) string { set(v, in); return "" }}
}

// Commas returns a field of several texts that are written as one, with commas between.
func Commas[T any](name, label string, maxLength int, field func(*T) *[]string) Field[T] {
	split := func(text string) []string { return web.Distinct(strings.Split(text, ",")) }
	f := Custom(name, label, maxLength, func(v *T) string { return strings.Join(*field(v), ", ") }, func(v *T, text string) string {
		*field(v) = split(text)
		return ""
	})
	f.read = func(in []string) []string { return []string{strings.Join(split(first(in)), ", ")} }
	return f
}

// EachLine returns a field of several texts that are written one a line.
func EachLine[T any](name, label string, maxLength int, field func(*T) *[]string) Field[T] {
	split := func(text string) []string { return web.Distinct(strings.Split(text, "\n")) }
	f := Custom(name, label, maxLength, func(v *T) string { return strings.Join(*field(v), "\n") }, func(v *T, text string) string {
		*field(v) = split(text)
		return ""
	})
	f.read = func(in []string) []string { return []string{strings.Join(split(first(in)), "\n")} }
	return f
}

func trimLine(in []string) []string { return []string{strings.TrimSpace(first(in))} }

func first(in []string) string {
	if len(in) == 0 {
		return ""
	}
	return in[0]
}
