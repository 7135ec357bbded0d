package redact

import (
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

const (
	// minSearched is the length of the shortest value that Search looks for, in characters:
	// shorter ones stand in many files by chance.
	minSearched = 6
	// minEncoded is that of the shortest encoding of one, in bytes.
	minEncoded = 8
)

// Search finds values of secrets in what it reads, as they are and encoded in a common way.
// Unlike a Redactor it keeps nothing of what it reads, however long that is. A nil one finds
// nothing.
type Search struct{ forms *automaton }

// NewSearch returns a search for values, each in JSON; nil where none of them is long enough
// to be looked for.
func NewSearch(values ...json.RawMessage) *Search {
	var forms []string
	for _, v := range values {
		for _, text := range textsOf(v) {
			if utf8.RuneCountInString(text) < minSearched {
				continue
			}
			forms = append(forms, text)
			for _, form := range encodings(text) {
				if len(form) >= minEncoded {
					forms = append(forms, form)
				}
			}
		}
	}
	if len(forms) == 0 {
		return nil
	}
	return &Search{newAutomaton(forms)}
}

// In reports whether one of the values is in what is read. It reads no further than the
// first.
func (s *Search) In(r io.Reader) (bool, error) {
	if s == nil {
		return false, nil
	}
	block, at := make([]byte, 64<<10), int32(0)
	for {
		n, err := r.Read(block)
		for _, c := range block[:n] {
			if at = s.forms.step(at, c); s.forms.nodes[at].match > 0 {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}
