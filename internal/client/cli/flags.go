package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// flag is a flag that sets a field of what a call takes. The field's type says what the flag takes.
type flag struct {
	// name may end in a letter for short, as "query,q". Without a name no flag sets the field: it has start.
	name, field, help string
	// start is what the field has where the flag is not given; nil leaves it out.
	start any
}

// addFlags adds flags that set fields of a struct, which are found by their names in JSON.
func addFlags(set *pflag.FlagSet, takes reflect.Type, list []flag) {
	for _, f := range list {
		name, letter, _ := strings.Cut(f.name, ",")
		if name == "" {
			continue
		}
		field, is := fieldNamed(takes, f.field)
		text, _ := f.start.(string)
		number, _ := f.start.(int)
		switch {
		case is.Kind() == reflect.Bool:
			set.BoolP(name, letter, false, f.help)
		case is.Kind() == reflect.Int, is.Kind() == reflect.Int64:
			set.Int64P(name, letter, int64(number), f.help)
		case is.Kind() == reflect.Slice && field.Tag.Get("form") != "": // of a query, where commas separate
			set.StringSliceP(name, letter, nil, f.help)
		case is.Kind() == reflect.Slice:
			set.StringArrayP(name, letter, nil, f.help)
		default:
			set.StringP(name, letter, text, f.help)
		}
	}
}

// fieldNamed returns the field of a struct that has a name in JSON, and its type without pointers.
func fieldNamed(in reflect.Type, name string) (reflect.StructField, reflect.Type) {
	for i := range in.NumField() {
		if f := in.Field(i); jsonName(f) == name {
			return f, plainType(f)
		}
	}
	panic(in.String() + " has no field " + name)
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func plainType(f reflect.StructField) reflect.Type {
	if f.Type.Kind() == reflect.Pointer {
		return f.Type.Elem()
	}
	return f.Type
}

// fields returns the fields that flags set, by their names in JSON.
func (s *screen) fields(set *pflag.FlagSet, takes reflect.Type, list []flag) (map[string]any, error) {
	given := map[string]any{}
	for _, f := range list {
		if f.start != nil {
			given[f.field] = f.start
		}
		name, _, _ := strings.Cut(f.name, ",")
		if !set.Changed(name) {
			continue
		}
		value := set.Lookup(name).Value
		_, is := fieldNamed(takes, f.field)
		list, isList := value.(pflag.SliceValue)
		switch {
		case isList:
			given[f.field] = list.GetSlice()
		case is == reflect.TypeFor[time.Time]():
			at, err := s.parseInstant(value.String())
			if err != nil {
				return nil, err
			}
			if at != nil {
				given[f.field] = at
			}
		case is.Kind() == reflect.String:
			given[f.field] = value.String()
		default:
			given[f.field] = json.RawMessage(value.String()) // a number, true or false
		}
	}
	return given, nil
}

// parameters returns what a call takes that has some fields. Empty texts are left out.
func parameters[P any](fields map[string]any) (*P, error) {
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var p P
	return &p, json.Unmarshal(raw, &p)
}
