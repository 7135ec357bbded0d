// Package globs decides whether two sets of globs can name one path.
//
// A glob is read as follows. Its parts stand between slashes. `*` is any characters of one part,
// `?` is one, `[a-z]` is one of a class ([!a-z] or [^a-z] is one of the others), and `**` as a part
// of its own is any number of parts; at the end, at least one. `{a,b}` is either; alternatives may
// contain slashes and braces. Everything else is itself: letters are compared with their case, byte
// sequences that are no UTF-8 as they are. A glob whose last part has no wildcard names the path and
// all below it, for nobody knows beforehand whether internal/db is a file or a directory; with a
// slash at the end, all below it. A part with a class also names the part that is spelled like it,
// as app/[id]/page.tsx is a file of many projects.
//
// An entry that begins with ! says which files a job leaves alone. It never widens what the
// others name, and here it does not narrow it either.
package globs

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxAlternatives bounds how many globs the braces of one entry stand for.
	maxAlternatives = 64
	// maxWildcards bounds the wildcards of one of them.
	maxWildcards = 32
	// maxGlobs bounds the globs of a set; more name every path.
	maxGlobs = 250
)

// Set is what some globs name. The zero Set names nothing.
type Set struct {
	globs []glob
	all   bool // every path
}

// Everything is the set that names every path.
var Everything = Set{globs: []glob{{parts: []part{{alternatives: [][]token{{{kind: star}}}}, {deep: true}}}}, all: true}

// glob is a sequence of parts.
type glob struct {
	parts []part
	// literal is how many parts at the beginning are spelled out.
	literal int
}

// part is what one part of a path can be; or any number of parts, where it is deep.
type part struct {
	deep         bool
	spelled      string // "" where it has wildcards
	alternatives [][]token
}

// Parse returns the set that a job's globs name. None, or nothing but exclusions, name every path,
// and so does one that Check refuses from its first wildcard on: jobs were made with such globs
// before they were refused.
func Parse(files []string) Set {
	var s Set
	for _, entry := range files {
		if strings.HasPrefix(entry, "!") {
			continue
		}
		expanded, ok := expand(entry)
		if !ok || slices.ContainsFunc(expanded, isWild) {
			expanded = []string{prefix(entry) + "**"}
		}
		for _, e := range expanded {
			g := parse(e)
			if len(g.parts) == 2 && g.parts[1].deep && g.parts[0].isStar() {
				return Everything
			}
			s.globs = append(s.globs, g)
		}
	}
	if len(s.globs) == 0 || len(s.globs) > maxGlobs {
		return Everything
	}
	return s
}

// Check returns what is wrong with one entry, "" where nothing is.
func Check(entry string) string {
	expanded, ok := expand(strings.TrimPrefix(entry, "!"))
	switch {
	case !ok:
		return "Its braces must stand for at most 64 globs."
	case slices.ContainsFunc(expanded, isWild):
		return "It must have at most 32 wildcards."
	}
	return ""
}

// All reports whether the set names every path, as where a job declares no files.
func (s Set) All() bool { return s.all }

// isWild reports whether a glob has more wildcards than allowed.
func isWild(s string) bool {
	return strings.Count(s, "*")+strings.Count(s, "?")+strings.Count(s, "[") > maxWildcards
}

// prefix returns the whole parts that stand before the first wildcard of a glob.
func prefix(s string) string {
	if at := strings.IndexAny(s, "*?[{"); at >= 0 {
		s = s[:at]
	}
	return s[:strings.LastIndex(s, "/")+1]
}

// expand returns the globs that one with braces stands for, and false where they are too many.
// Braces that do not close, and those without a comma, are characters.
func expand(s string) ([]string, bool) {
	done := []string{}
	open := []string{s}
	for len(open) > 0 {
		one := open[len(open)-1]
		open = open[:len(open)-1]
		begin, alternatives, end := firstBraces(one)
		if alternatives == nil {
			done = append(done, one)
		}
		for _, a := range slices.Backward(alternatives) {
			open = append(open, one[:begin]+a+one[end:])
		}
		if len(done)+len(open) > maxAlternatives {
			return nil, false
		}
	}
	return done, true
}

// firstBraces finds the first braces of a glob with more than one alternative.
func firstBraces(s string) (begin int, alternatives []string, end int) {
	for begin = range len(s) {
		if s[begin] != '{' {
			continue
		}
		depth, from := 0, begin+1
		var list []string
		for i := begin; i < len(s); i++ {
			switch s[i] {
			case '{':
				depth++
			case ',':
				if depth == 1 {
					list, from = append(list, s[from:i]), i+1
				}
			case '}':
				if depth--; depth == 0 && list != nil {
					return begin, append(list, s[from:i]), i + 1
				}
			}
			if depth == 0 {
				break
			}
		}
	}
	return 0, nil, 0
}

// parse reads a glob without braces.
func parse(s string) glob {
	var g glob
	below := strings.HasSuffix(s, "/")
	for text := range strings.SplitSeq(s, "/") {
		switch text {
		case "":
		case "**":
			if n := len(g.parts); n == 0 || !g.parts[n-1].deep {
				g.parts = append(g.parts, part{deep: true})
			}
		default:
			g.parts = append(g.parts, parsePart(text))
		}
	}
	g.literal = len(g.parts)
	if at := slices.IndexFunc(g.parts, func(p part) bool { return p.spelled == "" }); at >= 0 {
		g.literal = at
	}
	last := part{}
	if n := len(g.parts); n > 0 {
		last = g.parts[n-1]
	}
	anything := part{alternatives: [][]token{{{kind: star}}}}
	switch {
	case last.deep:
		g.parts = append(g.parts[:len(g.parts)-1], anything, last)
	case below:
		g.parts = append(g.parts, anything, part{deep: true})
	case last.spelled != "":
		g.parts = append(g.parts, part{deep: true})
	}
	return g
}

func (p part) isStar() bool {
	return len(p.alternatives) == 1 && len(p.alternatives[0]) == 1 && p.alternatives[0][0].kind == star
}

// parsePart reads what stands between two slashes.
func parsePart(text string) part {
	if !strings.ContainsAny(text, "*?[") {
		return part{spelled: text, alternatives: [][]token{tokens(text, false)}}
	}
	p := part{alternatives: [][]token{tokens(text, true)}}
	if slices.ContainsFunc(p.alternatives[0], func(t token) bool { return t.kind == class }) {
		p.alternatives = append(p.alternatives, tokens(text, false))
	}
	return p
}

// kind is what a token can be.
type kind uint8

const (
	one  kind = iota // this character
	any1             // any character
	star             // any characters
	class
)

type token struct {
	kind    kind
	char    rune
	negated bool
	ranges  [][2]rune
}

// tokens takes a part to pieces. Without classes brackets are characters.
func tokens(text string, classes bool) []token {
	var list []token
	for i := 0; i < len(text); {
		c, size := decode(text[i:])
		switch {
		case c == '*':
			if n := len(list); n == 0 || list[n-1].kind != star {
				list = append(list, token{kind: star})
			}
		case c == '?':
			list = append(list, token{kind: any1})
		case c == '[' && classes:
			if t, width := parseClass(text[i:]); width > 0 {
				list, size = append(list, t), width
				break
			}
			list = append(list, token{char: c})
		default:
			list = append(list, token{char: c})
		}
		i += size
	}
	return list
}

// decode returns the first character; a byte that begins none has a number of its own above
// those of characters.
func decode(s string) (rune, int) {
	c, size := utf8.DecodeRuneInString(s)
	if c == utf8.RuneError && size == 1 {
		return utf8.MaxRune + 1 + rune(s[0]), 1
	}
	return c, size
}

// encode is the reverse of decode.
func encode(c rune) string {
	if c > utf8.MaxRune {
		return string([]byte{byte(c - utf8.MaxRune - 1)}) // #nosec G115 -- decode adds a byte
	}
	return string(c)
}

// parseClass reads a class like [a-z_] or [!0-9]; width is 0 where it is none. A closing bracket
// that comes first is a member.
func parseClass(s string) (t token, width int) {
	t.kind = class
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		t.negated = true
		i++
	}
	for first := true; i < len(s); first = false {
		if s[i] == ']' && !first {
			return t, i + 1
		}
		low, size := decode(s[i:])
		i += size
		high := low
		if i+1 < len(s) && s[i] == '-' && s[i+1] != ']' {
			high, size = decode(s[i+1:])
			i += 1 + size
		}
		if low <= high {
			t.ranges = append(t.ranges, [2]rune{low, high})
		}
	}
	return token{}, 0
}
