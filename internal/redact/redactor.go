package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Placeholder stands wherever the value of a secret stood.
const Placeholder = "[secret]"

// PlaceholderJSON is the placeholder as JSON.
const PlaceholderJSON = `"` + Placeholder + `"`

// Redactor takes the values of secrets out of texts, also where they are encoded
// in a common way. It is for accidents: an agent that wants to reveal what it knows
// finds an encoding that nobody looks for. A nil one changes nothing.
//
// What a text was cut from goes as well: the beginning or the end of a value, from
// minPart bytes on.
//
// A text is read four times, whatever it holds: as it is, and plain, each from both ends.
type Redactor struct {
	written *automaton // over what a value may look like
	plain   *automaton // the same in a plain text
}

// automaton finds all of its forms in one reading.
type automaton struct {
	forms   []string
	longest int // of the forms, in bytes
	nodes   []node
	root    [256]int32 // the first step, by byte

	back func() *automaton // finds the forms in a text that is read from its end
}

// node is a place in the automaton: what was read last is the beginning of a form.
type node struct {
	child, sibling int32 // 0 for none: nobody's child is the root
	fail           int32 // the longest end of the same text that is a place, too
	match          int32 // length of the longest form that ends here, 0 for none
	depth          int32 // how much of a form was read
	letter         byte
}

// New returns a redactor of values, each in JSON; nil where none of them is long
// enough to be looked for.
func New(values ...json.RawMessage) *Redactor {
	var written, plain []string
	for _, v := range values {
		for _, text := range listTexts(v) {
			written = append(written, encodings(text)...)
			for _, form := range plainForms(text) {
				if len(form) >= minPlain {
					plain = append(plain, form)
				}
			}
		}
	}
	if len(written) == 0 {
		return nil
	}
	return &Redactor{written: newAutomaton(written), plain: newAutomaton(plain)}
}

func newAutomaton(forms []string) *automaton {
	a := &automaton{forms: forms, nodes: make([]node, 1)}
	for _, form := range forms {
		a.add(form)
		a.longest = max(a.longest, len(form))
	}
	a.link()
	a.back = sync.OnceValue(a.reversed)
	return a
}

func (a *automaton) add(form string) {
	at := int32(0)
	for i := range len(form) {
		next := a.child(at, form[i])
		if next == 0 {
			next = int32(len(a.nodes)) //nolint:gosec // bounded by what a job may keep secret
			a.nodes = append(a.nodes, node{sibling: a.nodes[at].child, depth: a.nodes[at].depth + 1, letter: form[i]})
			a.nodes[at].child = next
			if at == 0 {
				a.root[form[i]] = next
			}
		}
		at = next
	}
	a.nodes[at].match = a.nodes[at].depth
}

// child returns the next place where a letter follows, 0 where no form goes on so.
func (a *automaton) child(at int32, letter byte) int32 {
	if at == 0 {
		return a.root[letter]
	}
	for c := a.nodes[at].child; c != 0; c = a.nodes[c].sibling {
		if a.nodes[c].letter == letter {
			return c
		}
	}
	return 0
}

// link finds, from the shortest place to the longest, where to go on after a
// letter that does not fit.
func (a *automaton) link() {
	queue := make([]int32, 0, len(a.nodes))
	queue = append(queue, 0)
	for head := 0; head < len(queue); head++ {
		at := queue[head]
		for c := a.nodes[at].child; c != 0; c = a.nodes[c].sibling {
			if at != 0 {
				a.nodes[c].fail = a.step(a.nodes[at].fail, a.nodes[c].letter)
			}
			if a.nodes[c].match == 0 {
				a.nodes[c].match = a.nodes[a.nodes[c].fail].match
			}
			queue = append(queue, c)
		}
	}
}

func (a *automaton) step(at int32, letter byte) int32 {
	for {
		if next := a.child(at, letter); next != 0 || at == 0 {
			return next
		}
		at = a.nodes[at].fail
	}
}

// span is a part of a text, from its first byte up to the one after its last.
type span struct{ from, to int }

// find gives the parts of a text that are to go, in order: forms, and their beginnings
// and ends from minPart bytes on. Those that overlap go together.
func (a *automaton) find(text []byte) []span {
	found := a.findForward(text)
	if len(text) < minPart || a.longest <= minPart {
		return found
	}
	back := slices.Clone(text)
	slices.Reverse(back)
	return merge(found, turned(a.back().findForward(back), len(text)))
}

// findForward gives the forms in a text and their beginnings.
func (a *automaton) findForward(text []byte) []span {
	var found []span
	at := int32(0)
	for i, c := range text {
		at = a.step(at, c)
		n := a.nodes[at].match
		if depth := a.nodes[at].depth; depth >= minPart {
			n = depth // no form that ends here is longer
		}
		if n > 0 {
			found = together(found, span{i + 1 - int(n), i + 1})
		}
	}
	return found
}

// turned returns the places of parts of a reversed text in the text itself.
func turned(list []span, size int) []span {
	places := make([]span, 0, len(list))
	for _, s := range slices.Backward(list) {
		places = append(places, span{size - s.to, size - s.from})
	}
	return places
}

// together adds a part to those found; none of them ends after it.
func together(found []span, next span) []span {
	for n := len(found); n > 0 && next.from < found[n-1].to; n = len(found) {
		next.from = min(next.from, found[n-1].from)
		found = found[:n-1]
	}
	return append(found, next)
}

// find gives the parts of a text that are to go, in order: those of the text as it is,
// and those of the plain text.
func (r *Redactor) find(text string) []span { return r.findIn(text, makePlain(text)) }

func (r *Redactor) findIn(text string, clear plain) []span {
	return merge(r.written.find([]byte(text)), clear.written(r.plain.find(clear.text)))
}

// merge puts parts in order.
func merge(found []span, more ...[]span) []span {
	if all := slices.Concat(more...); len(all) > 0 {
		found = append(found, all...)
		slices.SortFunc(found, func(a, b span) int { return a.to - b.to })
		all = all[:0]
		for _, f := range found {
			all = together(all, f)
		}
		return all
	}
	return found
}

// Text returns a text without the values.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	return without(text, r.find(text))
}

func without(text string, found []span) string {
	if len(found) == 0 {
		return text
	}
	var out strings.Builder
	end := 0
	for _, f := range found {
		out.WriteString(text[end:f.from])
		out.WriteString(Placeholder)
		end = f.to
	}
	out.WriteString(text[end:])
	return out.String()
}

// Cut is Text of at most limit characters: a placeholder can be longer than what
// it stands for.
func (r *Redactor) Cut(text string, limit int) string {
	return Cut(r.Text(text), limit)
}

// Cut returns a text of at most limit characters.
func Cut(clean string, limit int) string {
	if utf8.RuneCountInString(clean) <= limit {
		return clean
	}
	return string([]rune(clean)[:limit])
}

// JSON returns a JSON value without the secret ones: in texts, in the names of fields,
// and in numbers, which become a text. What is not JSON is returned as it is.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if r == nil || len(raw) == 0 || !json.Valid(raw) {
		return raw
	}
	out, changed := make([]byte, 0, len(raw)), false
	for i := 0; i < len(raw); {
		end := tokenEnd(raw, i)
		token := raw[i:end]
		if clean, ok := r.token(token); ok {
			token, changed = clean, true
		}
		out, i = append(out, token...), end
	}
	if !changed {
		return raw
	}
	return out
}

// token returns a token of JSON without the values; ok where it changed.
func (r *Redactor) token(token []byte) (clean []byte, ok bool) {
	switch c := token[0]; {
	case c == '"':
		text := string(token[1 : len(token)-1])
		if bytes.IndexByte(token, '\\') >= 0 && json.Unmarshal(token, &text) != nil {
			return nil, false
		}
		if found := r.Text(text); found != text {
			clean, err := json.Marshal(found)
			return clean, err == nil
		}
	case c == '-' || '0' <= c && c <= '9':
		for _, form := range numberForms(string(token)) {
			if len(r.find(form)) > 0 {
				return []byte(PlaceholderJSON), true
			}
		}
	}
	return nil, false
}

// tokenEnd is where the token ends that begins at i in valid JSON: a text, a
// number, or one byte of anything else.
func tokenEnd(raw []byte, i int) int {
	switch c := raw[i]; {
	case c == '"':
		for i++; raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		return i + 1
	case c == '-' || '0' <= c && c <= '9':
		for i < len(raw) && strings.IndexByte("+-.eE0123456789", raw[i]) >= 0 {
			i++
		}
		return i
	}
	return i + 1
}
