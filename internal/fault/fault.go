// Package fault is the vocabulary of refusals. Every error that a person or an
// agent may read is an *Error: a stable code, a sentence that says what to do,
// and, where input was wrong, the fields. Everything else is internal and shown
// as Internal.
package fault

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Error is a refusal that may be shown. Message and Fields are written for the
// reader; the cause is for the log only.
type Error struct {
	Code    Code
	Message string
	// Fields maps a field of the input ("capabilities[2]") to what is wrong with it.
	Fields map[string]string
	// Details carries what a caller needs to go on, such as the path of a cycle.
	Details map[string]any
	cause   error
}

// New returns a refusal with a message for the reader.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap is New with a cause that is logged and never shown.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.cause = cause
	return e
}

// Invalid returns a refusal of one field of the input, with code InvalidFields.
func Invalid(field, format string, args ...any) *Error {
	return InvalidFields(map[string]string{field: fmt.Sprintf(format, args...)})
}

// InvalidFields returns a refusal of several fields at once.
func InvalidFields(fields map[string]string) *Error {
	return &Error{Code: Validation, Message: "Some fields need another value.", Fields: maps.Clone(fields)}
}

// Names returns the names of the refused fields in order, those in a list by their number:
// which of them a person reads first never depends on chance.
func (e *Error) Names() []string {
	return slices.SortedFunc(maps.Keys(e.Fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(padNumbers(a), padNumbers(b)), cmp.Compare(a, b))
	})
}

// padNumbers gives every number as many digits, so that capabilities[10] comes after
// capabilities[2].
func padNumbers(field string) string {
	return numbers.ReplaceAllStringFunc(field, func(digits string) string {
		return strings.Repeat("0", max(0, 9-len(digits))) + digits
	})
}

var numbers = regexp.MustCompile(`[0-9]+`)

// With returns a copy of e that carries one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = map[string]any{}
	}
	c.Details[key] = value
	return &c
}

// Error gives code, message and cause. It is for logs: the cause may hold
// internal text.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause, nil where there is none.
func (e *Error) Unwrap() error { return e.cause }

// From returns the refusal inside err, or an Internal one that hides err.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(err, Internal, "Something went wrong on the server. Nothing was changed.")
}

// Is reports whether err is a refusal with that code.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
