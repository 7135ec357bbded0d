package app

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/caarlos0/env/v11"
)

// byVariable returns an error of reading the environment in the words of who wrote
// the environment: with the names of variables instead of those of fields, and
// without the values.
func byVariable(err error) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	errs := make([]error, 0, len(all.Errors))
	for _, one := range all.Errors {
		var wrong env.ParseError
		if !errors.As(one, &wrong) {
			errs = append(errs, fmt.Errorf("reading the environment: %w", one))
			continue
		}
		needs := "cannot be read"
		if wrong.Type.Kind() == reflect.Int {
			needs = "must be a whole number"
		}
		errs = append(errs, fmt.Errorf("%s: %s", findVariable(reflect.TypeFor[Config](), wrong.Name), needs))
	}
	return errors.Join(errs...)
}

// findVariable returns the variable that a field of the configuration, or of a part of
// it, is read from.
func findVariable(of reflect.Type, field string) string {
	for f := range of.Fields() {
		if name := f.Tag.Get("env"); name != "" && f.Name == field {
			return name
		}
		if f.Type.Kind() != reflect.Struct {
			continue
		}
		if name := findVariable(f.Type, field); name != "" {
			return name
		}
	}
	return ""
}
