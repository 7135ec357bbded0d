package backup

import (
	"context"
	"errors"
	"fmt"
)

// RefusedError says why something was not begun. Nothing was changed.
type RefusedError struct{ cause error }

// Error returns the sentence.
func (r *RefusedError) Error() string { return r.cause.Error() }

// Unwrap returns what was refused for.
func (r *RefusedError) Unwrap() error { return r.cause }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Errorf(format, args...)} }

// NotBegun makes a RefusedError of an error that came before anything was changed. A DamageError, and the end of
// the context, stay what they are.
func NotBegun(err error) error {
	var damage *DamageError
	if err == nil || errors.As(err, &damage) || errors.Is(err, context.Canceled) {
		return err
	}
	return &RefusedError{err}
}

// DamageError says which file of a backup is not what was written.
type DamageError struct{ sentence string }

// Error returns the sentence.
func (d *DamageError) Error() string { return d.sentence }

func damage(format string, args ...any) error { return &DamageError{fmt.Sprintf(format, args...)} }

func damaged(name string) error {
	return damage("%s is not what the backup wrote: it was changed, or the disk lied", name)
}
