package form

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Own returns a field that reads and writes its text in a way of its own. set returns what is
// wrong with a text, "" for nothing; get is nil in a form that is never filled.
func Own[T any](name, label string, most int, get func(*T) string, set func(*T, string) (why string)) Field[T] {
	return Field[T]{Field: ui.Field{Name: name, Label: label, Max: most}, read: line,
		get: func(v *T) []string {
			if get == nil {
				return nil
			}
			return []string{get(v)}
		},
		set: func(v *T, in []string) string { return set(v, first(in)) }}
}

// Line returns a field of one line.
func Line[T any, V ~string](name, label string, most int, at func(*T) *V) Field[T] {
	return Own(name, label, most, func(v *T) string { return string(*at(v)) }, func(v *T, text string) string {
		*at(v) = V(text)
		return ""
	})
}

// Text returns a field of several lines, which keeps its blanks.
func Text[T any](name, label string, most int, at func(*T) *string) Field[T] {
	f := Line(name, label, most, at)
	f.read = func(in []string) []string { return []string{strings.ReplaceAll(first(in), "\r\n", "\n")} }
	return f
}

// Choice returns a field that is chosen of options; none are those that the page brings.
func Choice[T any, V ~string](name, label string, at func(*T) *V, options ...ui.Option) Field[T] {
	f := Line(name, label, 0, at)
	f.Options = options
	return f
}

// Box returns a box to tick.
func Box[T any](name, label string, at func(*T) *bool) Field[T] {
	return Own(name, label, 0, func(v *T) string {
		if *at(v) {
			return "1"
		}
		return ""
	}, func(v *T, text string) string {
		*at(v) = text != ""
		return ""
	})
}

// Number returns a field of a whole number from low to high, nil for none.
func Number[T any](name, label string, low, high int, at func(*T) **int) Field[T] {
	f := Own(name, label, 0, func(v *T) string {
		if n := *at(v); n != nil {
			return strconv.Itoa(*n)
		}
		return ""
	}, func(v *T, text string) string {
		wrong := map[string]string{}
		*at(v) = web.NumberChoice(name, text, low, high, wrong)
		return wrong[name]
	})
	f.Low, f.High = low, high
	return f
}

// List returns a field of several texts; split takes apart what was sent.
func List[T any](name, label string, split func([]string) []string, at func(*T) *[]string) Field[T] {
	return Field[T]{Field: ui.Field{Name: name, Label: label}, read: split,
		get: func(v *T) []string { return slices.Clone(*at(v)) },
		set: func(v *T, in []string) string { *at(v) = in; return "" }}
}

func line(in []string) []string { return []string{strings.TrimSpace(first(in))} }

func first(in []string) string {
	if len(in) == 0 {
		return ""
	}
	return in[0]
}
