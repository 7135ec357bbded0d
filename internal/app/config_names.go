package app

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/caarlos0/env/v11"
)

// readableErrors returns the errors of package env with the names of variables instead of
// fields, and without values.
func readableErrors(err error) error {
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

// findVariable returns the environment variable of a field of the configuration, or of one of
// its parts. An error of package env names a field and not its part: fields that can be
// misread, which those of numbers are, need names that are unique in Config.
func findVariable(config reflect.Type, field string) string {
	for f := range config.Fields() {
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
