package redact

import (
	"slices"
	"sort"
	"strings"
)

// minEdge is the length of the shortest part of a form, in bytes, that is looked for
// where a line begins or ends: shorter ones stand at the ends of many lines.
const minEdge = 6

// Lines are lines of a log without the values: also without those that begin in one
// line and end in another, and without what may be a part of one whose rest is written
// elsewhere: the end of a line that a form begins with, and the beginning of a line
// that a form ends with.
func (r *Redactor) Lines(list []string) []string {
	if r == nil || len(list) == 0 {
		return list
	}
	text := strings.Join(list, "\n")
	clear, lines := makePlain(text), placeLines(list)
	plainLines := clear.parts(lines)
	found := merge(r.findIn(text, clear),
		r.written.tails([]byte(text), lines), r.written.heads([]byte(text), lines),
		clear.written(r.plain.tails(clear.text, plainLines)), clear.written(r.plain.heads(clear.text, plainLines)))
	clean := slices.Clone(list)
	for i, line := range lines {
		var mine []span
		for _, f := range found {
			if f.from >= line.to {
				break
			}
			if f.to > line.from {
				mine = append(mine, span{max(f.from, line.from) - line.from, min(f.to, line.to) - line.from})
			}
		}
		clean[i] = without(list[i], mine)
		for len(found) > 0 && found[0].to <= line.to {
			found = found[1:]
		}
	}
	return clean
}

// placeLines returns the places of lines in the text that they make together.
func placeLines(list []string) []span {
	lines, at := make([]span, len(list)), 0
	for i, line := range list {
		lines[i] = span{at, at + len(line)}
		at += len(line) + 1
	}
	return lines
}

// parts returns the places in the plain text of parts of the text that it was read from.
func (p plain) parts(list []span) []span {
	index := func(at int) int { return sort.Search(len(p.at), func(i int) bool { return int(p.at[i]) >= at }) }
	parts := make([]span, len(list))
	for i, part := range list {
		parts[i] = span{index(part.from), index(part.to)}
	}
	return parts
}

// tails returns the ends of lines, the longest each, that forms begin with; such an end
// may have begun in an earlier line.
func (a *automaton) tails(text []byte, lines []span) []span {
	var found []span
	at, read := int32(0), 0
	for _, line := range lines {
		if line.to-read > a.longest {
			at, read = 0, line.to-a.longest // what was before cannot matter
		}
		for ; read < line.to; read++ {
			at = a.step(at, text[read])
		}
		if n := int(a.nodes[at].depth); n >= minEdge {
			found = append(found, span{line.to - n, line.to})
		}
	}
	return found
}

// heads returns the beginnings of lines, the longest each, that forms end with: tails,
// read from the end.
func (a *automaton) heads(text []byte, lines []span) []span {
	back := slices.Clone(text)
	slices.Reverse(back)
	return turned(a.back().tails(back, turned(lines, len(text))), len(text))
}

// reversed finds the forms in a text that is read from its end.
func (a *automaton) reversed() *automaton {
	forms := make([]string, 0, len(a.forms))
	for _, form := range a.forms {
		letters := []byte(form)
		slices.Reverse(letters)
		forms = append(forms, string(letters))
	}
	return newAutomaton(forms)
}
