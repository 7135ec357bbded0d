package jobs

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Placeholder stands wherever the value of a secret stood.
const Placeholder = "[secret]"

// quoted is the placeholder as JSON.
const quoted = `"` + Placeholder + `"`

// Redactor takes the values of secrets out of texts, also where they are encoded
// in a common way. It is for accidents: an agent that wants to tell what it knows
// finds an encoding that nobody looks for. A nil one changes nothing.
//
// It is an automaton over all forms of all values, so that a text is read once,
// whatever it holds.
type Redactor struct {
	nodes []node
	root  [256]int32 // the first step, by byte
}

// node is a place in the automaton: what was read last is the beginning of a form.
type node struct {
	child, sibling int32 // 0 for none: nobody's child is the root
	fail           int32 // the longest end of the same text that is a place, too
	match          int32 // length of the longest form that ends here, 0 for none
	letter         byte
}

// NewRedactor returns a redactor of values; nil where none of them is long
// enough to be looked for.
func NewRedactor(values ...Secret) *Redactor {
	r := &Redactor{nodes: make([]node, 1)}
	for _, v := range values {
		for form := range formsOf(v.Reveal()) {
			r.add(form)
		}
	}
	if len(r.nodes) == 1 {
		return nil
	}
	r.link()
	return r
}

func (r *Redactor) add(form string) {
	at := int32(0)
	for i := range len(form) {
		next := r.child(at, form[i])
		if next == 0 {
			next = int32(len(r.nodes)) //nolint:gosec // bounded by maxSecrets
			r.nodes = append(r.nodes, node{sibling: r.nodes[at].child, letter: form[i]})
			r.nodes[at].child = next
			if at == 0 {
				r.root[form[i]] = next
			}
		}
		at = next
	}
	r.nodes[at].match = int32(len(form)) //nolint:gosec // bounded by maxSecrets
}

// child is the next place where a letter follows, 0 where no form goes on so.
func (r *Redactor) child(at int32, letter byte) int32 {
	if at == 0 {
		return r.root[letter]
	}
	for c := r.nodes[at].child; c != 0; c = r.nodes[c].sibling {
		if r.nodes[c].letter == letter {
			return c
		}
	}
	return 0
}

// link finds, from the shortest place to the longest, where to go on after a
// letter that does not fit.
func (r *Redactor) link() {
	queue := make([]int32, 0, len(r.nodes))
	queue = append(queue, 0)
	for head := 0; head < len(queue); head++ {
		at := queue[head]
		for c := r.nodes[at].child; c != 0; c = r.nodes[c].sibling {
			if at != 0 {
				r.nodes[c].fail = r.step(r.nodes[at].fail, r.nodes[c].letter)
			}
			if r.nodes[c].match == 0 {
				r.nodes[c].match = r.nodes[r.nodes[c].fail].match
			}
			queue = append(queue, c)
		}
	}
}

func (r *Redactor) step(at int32, letter byte) int32 {
	for {
		if next := r.child(at, letter); next != 0 || at == 0 {
			return next
		}
		at = r.nodes[at].fail
	}
}

// span is a part of a text, from its first byte up to the one after its last.
type span struct{ from, to int }

// find gives the parts of a text that are to go, in order; forms that overlap go
// together.
func (r *Redactor) find(text string) []span {
	var found []span
	at := int32(0)
	for i := range len(text) {
		at = r.step(at, text[i])
		if r.nodes[at].match == 0 {
			continue
		}
		next := span{i + 1 - int(r.nodes[at].match), i + 1}
		for n := len(found); n > 0 && next.from < found[n-1].to; n = len(found) {
			next.from = min(next.from, found[n-1].from)
			found = found[:n-1]
		}
		found = append(found, next)
	}
	return found
}

// Text is a text without the values.
func (r *Redactor) Text(text string) string {
	if r == nil {
		return text
	}
	found := r.find(text)
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
	clean := r.Text(text)
	if utf8.RuneCountInString(clean) <= limit {
		return clean
	}
	return string([]rune(clean)[:limit])
}

// JSON is a JSON value without the secret ones: in texts, in the names of fields,
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

// token is a token of JSON without the values; ok where it changed.
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
				return []byte(quoted), true
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
