package jobs

import (
	"slices"
	"time"
)

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
// rounded, and the event would record another one.
func keepable(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	cut := t.Truncate(time.Microsecond)
	return &cut
}
