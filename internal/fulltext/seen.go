package fulltext

import (
	"slices"
	"strings"
)

// What stands around a word that was looked for, in a passage that was found.
const (
	MarkBegin = "\x02"
	MarkEnd   = "\x03"
)

const (
	// passageBefore is how much of a text stands before the first word that was found, in
	// bytes, passageSize how much of it in all.
	passageBefore = 80
	passageSize   = 400
)

// unmarked takes the bytes of marks out of a text; everything stays in its place.
var unmarked = strings.NewReplacer(MarkBegin, " ", MarkEnd, " ")

// span is a piece of a text.
type span struct{ from, to int }

// Seen is what of a query stands in a text.
type Seen struct {
	// Has says of each part whether it is there.
	Has []bool

	text  string
	marks []span // in order, not overlapping
}

// See looks for the parts of q in a text.
func (q Query) See(text string) Seen {
	s := Seen{text: unmarked.Replace(text), Has: make([]bool, len(q))}
	words, all := slices.Collect(Words(s.text)), []span(nil)
	for i, p := range q {
		places := p.spans(words)
		s.Has[i], all = len(places) > 0, append(all, places...)
	}
	slices.SortFunc(all, func(a, b span) int { return a.from - b.from })
	for _, a := range all {
		if n := len(s.marks); n > 0 && a.from < s.marks[n-1].to {
			s.marks[n-1].to = max(s.marks[n-1].to, a.to)
		} else {
			s.marks = append(s.marks, a)
		}
	}
	return s
}

// spans returns the places of a part among the words of a text.
func (p Part) spans(text []Word) (list []span) {
	n := len(p.Words)
	for i := 0; i+n <= len(text); i++ {
		last := text[i+n-1].Text
		same := last == p.Words[n-1] || p.Open && strings.HasPrefix(last, p.Words[n-1])
		for k := range n - 1 {
			same = same && text[i+k].Text == p.Words[k]
		}
		if same {
			list = append(list, span{text[i].From, text[i+n-1].To})
		}
	}
	return list
}

// All reports whether all parts are there.
func (s Seen) All() bool { return !slices.Contains(s.Has, false) }

// Any reports whether any part is there.
func (s Seen) Any() bool { return len(s.marks) > 0 }

// Passage returns the piece of the text around the first part that was found, with all that were
// found in it between marks; without any it is the text's beginning.
func (s Seen) Passage() string {
	at := 0
	if s.Any() {
		at = max(s.marks[0].from-passageBefore, 0)
	}
	end := len(s.text)
	if end > at+passageSize {
		end = at + passageSize
		if s.Any() {
			end = max(end, s.marks[0].to)
		}
	}
	var b strings.Builder
	if at > 0 {
		b.WriteString("…")
	}
	for _, m := range s.marks {
		if m.to > end {
			break
		}
		b.WriteString(s.text[at:m.from] + MarkBegin + s.text[m.from:m.to] + MarkEnd)
		at = m.to
	}
	b.WriteString(s.text[at:end])
	if end < len(s.text) {
		b.WriteString("…")
	}
	return strings.ToValidUTF8(b.String(), "")
}

// Longest returns the longest of the pieces of the text that were found.
func (s Seen) Longest() (piece string) {
	for _, m := range s.marks {
		if m.to-m.from > len(piece) {
			piece = s.text[m.from:m.to]
		}
	}
	return piece
}
