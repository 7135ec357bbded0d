package form

import (
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
	return Line(name, label, most, at).Lines()
}

// Lines returns the field as one of several lines, which keeps its blanks.
func (f Field[T]) Lines() Field[T] {
	f.read = func(in []string) []string { return []string{strings.ReplaceAll(first(in), "\r\n", "\n")} }
	return f
}

// Choice returns a field whose value is chosen.
func Choice[T any, V ~string](name, label string, at func(*T) *V) Field[T] {
	return Line(name, label, 0, at)
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

// List returns a field of several texts; split takes apart what was sent. get is nil in a form
// that is never filled.
func List[T any](name, label string, split func([]string) []string, get func(*T) []string, set func(*T, []string)) Field[T] {
	return Field[T]{Field: ui.Field{Name: name, Label: label}, read: split, get: get,
		set: func(v *T, in []string) string { set(v, in); return "" }}
}

// Commas returns a field of several texts that are written as one, with commas between.
func Commas[T any](name, label string, most int, at func(*T) *[]string) Field[T] {
	split := func(text string) []string { return web.Distinct(strings.Split(text, ",")) }
	f := Own(name, label, most, func(v *T) string { return strings.Join(*at(v), ", ") }, func(v *T, text string) string {
		*at(v) = split(text)
		return ""
	})
	f.read = func(in []string) []string { return []string{strings.Join(split(first(in)), ", ")} }
	return f
}

func line(in []string) []string { return []string{strings.TrimSpace(first(in))} }

func first(in []string) string {
	if len(in) == 0 {
		return ""
	}
	return in[0]
}
