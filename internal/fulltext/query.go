package fulltext

import (
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// MaxQuery bounds a search, in characters.
const MaxQuery = 200

// Query is what somebody looks for: parts that must all be there.
type Query []Part

// Part are words that stand together.
type Part struct {
	Words []string
	// Open says that the last word may be the beginning of one.
	Open bool
}

// IsPhrase reports whether words have to stand together.
func (p Part) IsPhrase() bool { return len(p.Words) > 1 }

// Parse reads a search. What stands between blanks or in quotes is a part; the last one is
// open unless it is in quotes, and so is what may be the beginning of a commit's SHA-1.
//
// Fault: Validation of the field q for a search without a word, or one that is too long.
func Parse(text string) (list Query, err error) {
	p := fault.Problems{}
	p.Text("q", text, MaxQuery)
	quoted := false
	for i, piece := range strings.Split(text, `"`) {
		pieces := []string{piece}
		if i%2 == 0 {
			pieces = strings.Fields(piece)
		}
		for _, one := range pieces {
			var part Part
			for w := range Words(one) {
				part.Words = append(part.Words, w.Text)
			}
			if len(part.Words) > 0 {
				quoted = i%2 == 1
				part.Open = !quoted && !part.IsPhrase() && isHash(part.Words[0])
				list = append(list, part)
			}
		}
	}
	if len(list) == 0 {
		p.Add("q", "There must be a word to look for.")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	list[len(list)-1].Open = !quoted
	return list, nil
}

// isHash reports whether a word may be the beginning of a SHA-1 in hexadecimal.
func isHash(word string) bool {
	return len(word) >= 7 && len(word) < 40 && strings.Trim(word, "0123456789abcdef") == "" && strings.ContainsAny(word, "0123456789")
}

// Together writes q as a tsquery in which the words of a part stand one behind the other.
func (q Query) Together() string { return q.write(" <-> ") }

// Apart writes q as a tsquery for words that are kept without their places.
func (q Query) Apart() string { return q.write(" & ") }

func (q Query) write(between string) string {
	var b strings.Builder
	for i, p := range q {
		if i > 0 {
			b.WriteString(" & ")
		}
		b.WriteString("(")
		for k, w := range p.Words {
			if k > 0 {
				b.WriteString(between)
			}
			b.WriteString("'" + w + "'") // words have no quotes
			if p.Open && k == len(p.Words)-1 {
				b.WriteString(":*")
			}
		}
		b.WriteString(")")
	}
	return b.String()
}
