package viewstest

import (
	"reflect"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/views/ui"
)

// hostile is what an agent may write into any text. The mark shows where it
// was taken for markup.
const hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)><b data-pwned>" +
	"\u202e\x1b[31m</title></textarea><hx-partial hx-target=\"body\">"

// poison writes the hostile text into every text of a model. Addresses stay:
// views/links builds them from escaped names.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			switch v.Type().Elem() {
			case reflect.TypeFor[string]():
				v.SetMapIndex(k, reflect.ValueOf(hostile))
			case reflect.TypeFor[[]string]():
				v.SetMapIndex(k, reflect.ValueOf([]string{hostile}))
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[ui.SafeHTML]() ||
			v.Type() == reflect.TypeFor[ui.Field]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); !isAddress(f.Name) {
				poison(v.Field(i))
			}
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(hostile)
		}
	}
}

// isAddress names the fields that handlers fill from views/links or from
// words of their own, never from what agents or people wrote.
func isAddress(field string) bool {
	for _, s := range []string{"URL", "Href", "Icon", "Verb", "Column", "To", "Path", "Undrain", "Terminate", "Answer", "ID", "Rel"} {
		if field == s || strings.HasSuffix(field, "URL") {
			return true
		}
	}
	return false
}

// Poisoned returns a model with the hostile text in each of its texts.
func Poisoned[T any](m T) T {
	poison(reflect.ValueOf(&m).Elem())
	return m
}
