package jobsearch

import (
	"iter"
	"slices"
	"strings"
	"unicode"

	"fleetboard/internal/fault"
	"fleetboard/internal/fulltext"
)

// maxWord bounds a word of a log, in bytes: of a longer one the beginning counts.
const maxWord = 100

// word is a word in lower case, and where it stands in its text.
type word struct {
	text     string
	from, to int
}

// wordsOf are the words of a text: runs of letters and digits. What is between them, also in
// paths and names of code, only parts them.
func wordsOf(text string) iter.Seq[word] {
	return func(yield func(word) bool) {
		for to := 0; to < len(text); {
			skip := strings.IndexFunc(text[to:], inWord)
			if skip < 0 {
				return
			}
			from := to + skip
			if n := strings.IndexFunc(text[from:], func(r rune) bool { return !inWord(r) }); n < 0 {
				to = len(text)
			} else {
				to = from + n
			}
			w := strings.ToLower(text[from:to])
			if len(w) > maxWord {
				w = strings.ToValidUTF8(w[:maxWord], "")
			}
			if !yield(word{w, from, to}) {
				return
			}
		}
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// part are words that stand together; of an open one the last word may be a beginning.
type part struct {
	words []string
	open  bool
}

// isPhrase reports whether words have to stand together.
func (p part) isPhrase() bool { return len(p.words) > 1 }

// partsOf reads a search as logs are searched: what stands between blanks or in quotes is a
// part, and the last one is open unless it is in quotes.
func partsOf(text string) (list []part, err error) {
	p := fault.Problems{}
	p.Text("q", text, fulltext.MaxQuery)
	for i, piece := range strings.Split(text, `"`) {
		quoted, pieces := i%2 == 1, []string{piece}
		if !quoted {
			pieces = strings.Fields(piece)
		}
		for _, one := range pieces {
			var next part
			for w := range wordsOf(one) {
				next.words = append(next.words, w.text)
			}
			if len(next.words) > 0 {
				next.open = !quoted
				list = append(list, next)
			}
		}
	}
	if len(list) == 0 {
		p.Add("q", "There must be a word to look for.")
	}
	for i := range max(len(list)-1, 0) {
		list[i].open = false
	}
	return list, p.Err()
}

// query is what an index of words is asked: all words of all parts.
func query(list []part) string {
	var all []string
	for _, p := range list {
		for i, w := range p.words {
			w = "'" + w + "'"
			if p.open && i == len(p.words)-1 {
				w += ":*"
			}
			all = append(all, w)
		}
	}
	return strings.Join(all, " & ")
}

// unmarked takes the bytes of marks out of a text; everything stays in its place.
var unmarked = strings.NewReplacer(fulltext.MarkBegin, " ", fulltext.MarkEnd, " ")

// span is a piece of a text.
type span struct{ from, to int }

// spansOf are the places of a part among the words of a text.
func (p part) spansOf(text []word) (list []span) {
	n := len(p.words)
	for i := 0; i+n <= len(text); i++ {
		last := text[i+n-1].text
		same := last == p.words[n-1] || p.open && strings.HasPrefix(last, p.words[n-1])
		for k := range n - 1 {
			same = same && text[i+k].text == p.words[k]
		}
		if same {
			list = append(list, span{text[i].from, text[i+n-1].to})
		}
	}
	return list
}

// seen is what of a search stands in a text.
type seen struct {
	marks []span // in order, not overlapping
	has   []bool // of each part whether it is there
}

// see looks for the parts in a text.
func see(text string, list []part) seen {
	words, all := slices.Collect(wordsOf(text)), []span(nil)
	s := seen{has: make([]bool, len(list))}
	for i, p := range list {
		places := p.spansOf(words)
		s.has[i], all = len(places) > 0, append(all, places...)
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

const (
	// passageBefore is how much of a line stands before the first word that was found, in
	// bytes, passageSize how much of it in all.
	passageBefore = 80
	passageSize   = 400
)

// passage is the piece of a text around its first mark, with its marks.
func (s seen) passage(text string) string {
	if len(s.marks) == 0 {
		return ""
	}
	at, end := max(s.marks[0].from-passageBefore, 0), len(text)
	if end > at+passageSize {
		end = max(at+passageSize, s.marks[0].to)
	}
	var b strings.Builder
	if at > 0 {
		b.WriteString("…")
	}
	for _, m := range s.marks {
		if m.to > end {
			break
		}
		b.WriteString(text[at:m.from] + fulltext.MarkBegin + text[m.from:m.to] + fulltext.MarkEnd)
		at = m.to
	}
	b.WriteString(text[at:end])
	if end < len(text) {
		b.WriteString("…")
	}
	return strings.ToValidUTF8(b.String(), "")
}

// longest is the longest of the marked pieces of a text.
func (s seen) longest(text string) (piece string) {
	for _, m := range s.marks {
		if m.to-m.from > len(piece) {
			piece = text[m.from:m.to]
		}
	}
	return piece
}
