package globs

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Steps bounds the work of some comparisons. What is left undone when none is left counts as an
// overlap: a job then waits although it need not.
type Steps int

// DefaultSteps is enough for the honest globs of hundreds of jobs, and ends within a fraction of a second
// whatever the globs are.
const DefaultSteps Steps = 5_000_000

// Parse is Parse at a step for each character; where too few are left the set names every path.
func (s *Steps) Parse(files []string) Set {
	n := 0
	for _, entry := range files {
		n += len(entry)
	}
	if !s.take(n) {
		return Everything
	}
	return Parse(files)
}

// take uses steps, and reports false where none is left.
func (s *Steps) take(n int) bool {
	*s -= Steps(n)
	return *s > 0
}

// Overlap returns paths that both sets name, the first of each pair of globs and at most most of
// them. Both say whether there is any; there may be one without a path where no steps are left.
func (s Set) Overlap(o Set, most int, steps *Steps) (paths []string, overlap bool) {
	if s.all && o.all {
		return []string{"**"}[:min(1, most)], true
	}
	for _, a := range s.globs {
		for _, b := range o.globs {
			if !steps.take(1) {
				return paths, true
			}
			if n := min(a.literal, b.literal); !sameBeginning(a.parts[:n], b.parts[:n]) {
				continue
			}
			p := pair{a: a.parts, b: b.parts, steps: steps}
			path, found := p.common()
			overlap = overlap || found
			if found && path != "" && !slices.Contains(paths, path) && len(paths) < most {
				paths = append(paths, path)
			}
			if overlap && len(paths) >= most {
				return paths, true
			}
		}
	}
	return paths, overlap
}

// Overlaps reports whether both sets name one path.
func (s Set) Overlaps(o Set, steps *Steps) bool {
	_, overlap := s.Overlap(o, 0, steps)
	return overlap
}

// Match reports whether the set names a path.
func (s Set) Match(path string) bool {
	var exact glob
	for text := range strings.SplitSeq(path, "/") {
		exact.parts = append(exact.parts, part{spelled: text, alternatives: [][]token{tokenize(text)}})
	}
	for _, g := range s.globs {
		steps := DefaultSteps
		if _, found := (&pair{a: g.parts, b: exact.parts, steps: &steps}).common(); found {
			return true
		}
	}
	return false
}

// tokenize takes a text to characters.
func tokenize(text string) []token {
	var list []token
	for len(text) > 0 {
		c, size := decode(text)
		list, text = append(list, token{char: c}), text[size:]
	}
	return list
}

func sameBeginning(a, b []part) bool {
	for i := range a {
		if a[i].spelled != b[i].spelled {
			return false
		}
	}
	return true
}

// pair looks for a path that two globs name, by walking through both at once: each state is how
// many parts of either are used up, so there are no more states than the product of their
// lengths.
type pair struct {
	a, b  []part
	steps *Steps
	seen  []bool
	path  []string
}

func (p *pair) common() (path string, found bool) {
	p.seen = make([]bool, (len(p.a)+1)*(len(p.b)+1))
	if !p.walk(0, 0) {
		return "", false
	}
	if *p.steps <= 0 {
		return "", true
	}
	slices.Reverse(p.path)
	return strings.Join(p.path, "/"), true
}

// walk reports whether what is left of both globs from i and j names a common rest; its parts are
// appended to the path, the last one first. Each step leads on in one glob at least, so that a
// state which is seen again has failed before.
func (p *pair) walk(i, j int) bool {
	if !p.steps.take(1) {
		return true
	}
	at := i*(len(p.b)+1) + j
	if p.seen[at] {
		return false
	}
	p.seen[at] = true
	switch {
	case i == len(p.a) && j == len(p.b):
		return true
	case i < len(p.a) && p.a[i].deep:
		return p.walk(i+1, j) || j < len(p.b) && p.pass(p.b[j], i, j+1)
	case j < len(p.b) && p.b[j].deep:
		return p.walk(i, j+1) || i < len(p.a) && p.pass(p.a[i], i+1, j)
	case i == len(p.a) || j == len(p.b):
		return false
	}
	text, found := meet(p.a[i], p.b[j], p.steps)
	return found && p.walk(i+1, j+1) && p.add(text)
}

// pass lets a deep part of one glob stand for a part of the other.
func (p *pair) pass(other part, i, j int) bool {
	if other.deep {
		return p.walk(i, j)
	}
	text, found := meet(other, part{alternatives: [][]token{{{kind: star}}}}, p.steps)
	return found && p.walk(i, j) && p.add(text)
}

func (p *pair) add(text string) bool {
	p.path = append(p.path, text)
	return true
}

// meet returns a text that two parts can be.
func meet(a, b part, steps *Steps) (string, bool) {
	if a.spelled != "" && b.spelled != "" {
		return a.spelled, a.spelled == b.spelled
	}
	for _, x := range a.alternatives {
		for _, y := range b.alternatives {
			if text, found := meetTokens(x, y, steps); found {
				return text, true
			}
		}
	}
	return "", false
}

// meetTokens is a walk like pair's, over the characters of one part, which has at least one.
func meetTokens(a, b []token, steps *Steps) (string, bool) {
	states := (len(a) + 1) * (len(b) + 1)
	if !steps.take(states / 16) {
		return "", true
	}
	seen := make([]bool, states)
	var text []rune
	var walk func(i, j int) bool
	walk = func(i, j int) bool {
		if !steps.take(1) {
			return true
		}
		at := i*(len(b)+1) + j
		if seen[at] {
			return false
		}
		seen[at] = true
		switch {
		case i == len(a) && j == len(b):
			return true
		case i < len(a) && a[i].kind == star:
			if walk(i+1, j) {
				return true
			}
			return j < len(b) && passChar(b[j], &text, func() bool { return walk(i, j+1) })
		case j < len(b) && b[j].kind == star:
			if walk(i, j+1) {
				return true
			}
			return i < len(a) && passChar(a[i], &text, func() bool { return walk(i+1, j) })
		case i == len(a) || j == len(b):
			return false
		}
		c, found := share(a[i], b[j])
		if !found || !walk(i+1, j+1) {
			return false
		}
		text = append(text, c)
		return true
	}
	if !walk(0, 0) {
		return "", false
	}
	return spell(text), true
}

// spell writes characters that were found from the last one on; what is nothing but stars is
// spelled "x".
func spell(text []rune) string {
	slices.Reverse(text)
	var out strings.Builder
	for _, c := range text {
		out.WriteString(encode(c))
	}
	return cmp.Or(out.String(), "x")
}

// passChar lets a star of one part stand for a token of the other.
func passChar(other token, text *[]rune, rest func() bool) bool {
	if other.kind == star {
		return rest()
	}
	c, found := share(other, token{kind: any1})
	if !found || !rest() {
		return false
	}
	*text = append(*text, c)
	return true
}

// share returns a character that two tokens can be; neither is a star.
func share(a, b token) (rune, bool) {
	if a.kind == one {
		return a.char, b.has(a.char)
	}
	if b.kind == one {
		return b.char, a.has(b.char)
	}
	// Where a class begins and where it ends, something changes: a common character, if there is
	// any, is one of these, or one just beside them.
	// Nor do control characters, slashes and surrogates stand in a part.
	candidates := []rune{'x', 'a', ' ', '.', '0', '~', 0x80, 0xd7ff, 0xe000, utf8.MaxRune}
	for _, t := range []token{a, b} {
		for _, r := range t.ranges {
			candidates = append(candidates, r[0], r[1], r[0]-1, r[1]+1)
		}
	}
	for _, c := range candidates {
		if isChar(c) && a.has(c) && b.has(c) {
			return c, true
		}
	}
	return 0, false
}

// isChar reports whether a character can stand in a part of a path.
func isChar(c rune) bool { return c >= ' ' && c != '/' && c != 0x7f && utf8.ValidRune(c) }

func (t token) has(c rune) bool {
	switch t.kind {
	case one:
		return t.char == c
	case class:
		in := slices.ContainsFunc(t.ranges, func(r [2]rune) bool { return r[0] <= c && c <= r[1] })
		return in != t.negated
	}
	return true
}
