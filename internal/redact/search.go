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
		for _, text := range listTexts(v) {
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
	block, at := make([]byte, 32<<10), int32(0)
	for {
		n, err := r.Read(block)
		next, found := search(s.forms, at, block[:n])
		if found {
			return true, nil
		}
		at = next
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// InText reports whether one of the values is in a text.
func (s *Search) InText(text string) bool {
	if s == nil {
		return false
	}
	_, found := search(s.forms, 0, text)
	return found
}

// search goes on in an automaton, and ends where a form does.
func search[T string | []byte](a *automaton, at int32, text T) (int32, bool) {
	for i := range len(text) {
		if at = a.step(at, text[i]); a.nodes[at].match > 0 {
			return at, true
		}
	}
	return at, false
}
