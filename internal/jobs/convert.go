package jobs

import (
	"slices"
	"time"
)

// wide gives an optional column's value as an int.
func wide[T int16 | int32](v *T) *int {
	if v == nil {
		return nil
	}
	n := int(*v)
	return &n
}

// small gives an optional int as a column's value; its range was checked by
// Validate.
func small(v *int) *int32 {
	if v == nil {
		return nil
	}
	n := int32(*v) //nolint:gosec // checked by Validate
	return &n
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func equal(a, b []string) bool { return slices.Equal(a, b) }

// orEmpty gives a list that PostgreSQL and JSON show as empty, never as null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func orDefault[T any](v *T, fallback T) T {
	if v == nil {
		return fallback
	}
	return *v
}

// keepable cuts a time to what a column holds, microseconds: as text it would be
// rounded, and the event would tell another one.
func keepable(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	cut := t.Truncate(time.Microsecond)
	return &cut
}
