// Package jobsearch finds jobs by the words of their texts.
package jobsearch

import (
	"context"
	"strings"
	"unicode"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// Found is a job with the passage of its texts that has the words looked for, in which they
// stand between the bytes 2 and 3.
type Found struct {
	jobs.Job

	Passage string
}

const (
	// findScan is how many of the newest jobs with the words are ranked.
	findScan = 500
	// maxFindQuery bounds a search, in characters.
	maxFindQuery = 200
)

// Service searches.
type Service struct{ db *db.DB }

// New returns the search of the jobs kept in d.
func New(d *db.DB) *Service { return &Service{db: d} }

// Find finds jobs by words of their key, title, body, question, answer and last error: those
// in quotes stand together, the last one may be the beginning of a word. The best of the
// newest come first, at most limit.
//
// Fault: Validation for a search without a word.
func (s *Service) Find(ctx context.Context, who tenancy.Principal, words string, limit int) (list []Found, err error) {
	wanted, err := findQuery(words)
	if err != nil {
		return nil, err
	}
	err = s.db.ListInWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		list, err = findTx(ctx, tx, who.Workspace, wanted, limit)
		return err
	})
	return list, err
}

// findQuery writes a search as PostgreSQL reads it: words and phrases that must all be there,
// the last word as a beginning.
func findQuery(text string) (string, error) {
	p := fault.Problems{}
	p.Text("q", text, maxFindQuery)
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
		return "", p.Err()
	}
	query := strings.Join(parts, " & ")
	if !phrase {
		query += ":*"
	}
	return query, p.Err()
}
