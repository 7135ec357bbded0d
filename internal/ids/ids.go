// Package ids makes and reads the identifiers of rows.
package ids

import "github.com/google/uuid"

// ID identifies a row. It is a version 7 UUID, so that rows made one after
// another lie close together in an index.
type ID = uuid.UUID

// Nil is the ID of nothing.
var Nil = uuid.Nil

// Max is the greatest ID, which no row has.
var Max = uuid.Max

// New returns a fresh ID. It panics only where the operating system has no
// randomness left to give, which no caller could mend.
func New() ID {
	return uuid.Must(uuid.NewV7())
}

// Parse reads an ID in its canonical form. The second result is false where s
// is anything else; other spellings that the uuid package accepts (braces,
// "urn:uuid:") are refused, so that one row has one address.
func Parse(s string) (ID, bool) {
	if len(s) != 36 {
		return Nil, false
	}
	id, err := uuid.Parse(s)
	return id, err == nil
}

// ParseAll separates the IDs of a list from the other names in it. Neither result is nil.
func ParseAll(list []string) (parsed []ID, others []string) {
	parsed, others = []ID{}, []string{}
	for _, s := range list {
		if id, ok := Parse(s); ok {
			parsed = append(parsed, id)
		} else {
			others = append(others, s)
		}
	}
	return parsed, others
}
