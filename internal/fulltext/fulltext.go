// Package fulltext writes what people look for as PostgreSQL's full-text search reads it.
package fulltext

import (
	"strings"
	"unicode"

	"fleetboard/internal/fault"
)

// What stands around a word that was looked for, in a passage that was found.
const (
	MarkBegin = "\x02"
	MarkEnd   = "\x03"
)

const (
	// Scan is how many of the newest rows with the words are ranked.
	Scan = 500
	// MaxQuery bounds a search, in characters.
	MaxQuery = 200
)

// Query writes a search as a tsquery: words and phrases in quotes that must all be there,
// the last word as a beginning.
//
// Fault: Validation of the field q for a search without a word, or one that is too long.
func Query(text string) (string, error) {
	p := fault.Problems{}
	p.Text("q", text, MaxQuery)
	var parts []string
	phrase := false
	for i, piece := range strings.Split(text, `"`) {
		words := strings.FieldsFunc(piece, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		if len(words) == 0 {
			continue
		}
		if phrase = i%2 == 1; phrase {
			parts = append(parts, "("+strings.Join(words, " <-> ")+")")
		} else {
			parts = append(parts, words...)
		}
	}
	if len(parts) == 0 {
		p.Add("q", "There must be a word to look for.")
	}
	if err := p.Err(); err != nil {
		return "", err
	}
	query := strings.Join(parts, " & ")
	if !phrase {
		query += ":*"
	}
	return query, nil
}
