package globs_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs/globs"
)

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b string // entries with spaces between them; | is a space in a name
		want string // a path of both, "" where there is none
	}{
		"one file":                     {"go.mod", "go.mod", "go.mod"},
		"two files":                    {"go.mod", "go.sum", ""},
		"case matters":                 {"README.md", "readme.md", ""},
		"a star and a file":            {"docs/*.md", "docs/api.md", "docs/api.md"},
		"a star stays in its part":     {"docs/*.md", "docs/adr/1.md", ""},
		"a star is one character":      {"a*b", "axb", "axb"},
		"a star is none":               {"a*b", "ab", "ab"},
		"two stars":                    {"a*", "*b", "ab"},
		"stars that share nothing":     {"a*x", "b*x", ""},
		"deep and deep":                {"internal/**", "**/store.go", "internal/store.go"},
		"deep below another":           {"internal/**", "internal/db/x.go", "internal/db/x.go"},
		"deep is not the folder":       {"a/**", "a*", ""},
		"deep in the middle":           {"a/**/z", "a/z", "a/z"},
		"deep in the middle, long":     {"a/**/z", "a/b/c/z", "a/b/c/z"},
		"deep in the middle of both":   {"a/**/y/*", "*/x/**/y/z", "a/x/y/z"},
		"deep beside characters":       {"a**", "a/b", ""},
		"a folder by its name":         {"internal/db", "internal/db/x/y.go", "internal/db/x/y.go"},
		"a folder and its sibling":     {"internal/db", "internal/dbx", ""},
		"a folder with a slash":        {"internal/db/", "internal/db", "internal/db/x"},
		"a folder with a slash itself": {"internal/db/", "internal/d*", ""},
		"a star is no folder":          {"src/*", "src/lib/a.go", ""},
		"one character":                {"v?", "v1", "v1"},
		"one character, no slash":      {"a?b", "a/b", ""},
		"a class":                      {"[a-c]x", "bx", "bx"},
		"another class":                {"[a-c]x", "[c-e]x", "cx"},
		"a class of others":            {"[!a-c]x", "[a-d]x", "dx"},
		"classes that share nothing":   {"[!a-c]x", "[a-c]x", ""},
		"the name of a route":          {"app/[id]/page.tsx", "app/[id]/page.tsx", "app/i/page.tsx"},
		"routes of two names":          {"app/[id]/*", "app/[slug]/*", ""},
		"a route that is named":        {"app/[id]/*", "app/[[]id]/page.tsx", "app/[id]/page.tsx"},
		"alternatives":                 {"{a,b}/x", "{b,c}/x", "b/x"},
		"alternatives with slashes":    {"{a/b,c}/x", "a/*/x", "a/b/x"},
		"nested alternatives":          {"{a,{b,c}d}", "cd", "cd"},
		"an empty alternative":         {"x{,.bak}", "x.bak", "x.bak"},
		"braces that do not close":     {"{a,b", "{a,b", "{a,b"},
		"braces with one":              {"{a}", "a", ""},
		"brackets that do not close":   {"[ab", "[ab", "[ab"},
		"spaces":                       {"my|docs/*.md", "my|docs/a|b.md", "my docs/a b.md"},
		"other letters":                {"straße/*.md", "straße/ü?.md", "straße/üx.md"},
		"composed and not":             {"\u00e9", "e\u0301", ""},
		"nothing declared":             {"", "any/file", "any/file"},
		"nothing declared twice":       {"", "", "**"},
		"only exclusions":              {"!vendor", "any", "any"},
		"an exclusion does not narrow": {"a/** !a/b", "a/b", "a/b"},
		"one of many":                  {"a b c/*", "x y c/d", "c/d"},
	} {
		steps := globs.DefaultSteps
		one, other := set(c.a), set(c.b)
		for _, pair := range [][2]globs.Set{{one, other}, {other, one}} {
			paths, overlap := pair[0].Overlap(pair[1], 1, &steps)
			if got := strings.Join(paths, ""); got != c.want || overlap != (c.want != "") {
				t.Errorf("%s: %q, %t; want %q", name, got, overlap, c.want)
			}
		}
		if c.want != "" && c.want != "**" && (!one.Match(c.want) || !other.Match(c.want)) {
			t.Errorf("%s: not both match %s", name, c.want)
		}
	}
}

func set(entries string) globs.Set {
	list := strings.Fields(entries)
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "|", " ")
	}
	return globs.Parse(list)
}

// atoms are pieces of globs, each with a regular expression for the same.
var atoms = [][2]string{{"a", "a"}, {"b", "b"}, {"é", "é"}, {"*", "[^/]*"}, {"?", "[^/]"}, {"{a,b}", "(a|b)"}, {"{,b}", "(|b)"}, {"A", "A"}}

// randomGlob returns a glob and a regular expression for what it names, built side by side.
func randomGlob(r *rand.Rand) (glob, pattern string) {
	n := 1 + r.IntN(3)
	wild := false
	for i := range n {
		last := i == n-1
		if i > 0 {
			glob += "/"
		}
		if r.IntN(8) == 0 {
			glob += "**"
			wild = true
			pattern += "([^/]+/)*"
			if last {
				pattern += "[^/]+"
			}
			continue
		}
		wild = false
		if r.IntN(8) == 0 { // classes have an alternative, so they stand alone in their part
			glob, pattern, wild = glob+"[!b]", pattern+`([^b/]|\[!b\])`, true
		} else {
			before := ""
			for range 1 + r.IntN(2) {
				atom := atoms[r.IntN(len(atoms))]
				if before == "*" && atom[0] == "*" {
					break // two make another thing
				}
				before = atom[0]
				glob, pattern, wild = glob+atom[0], pattern+atom[1], wild || strings.ContainsAny(atom[0], "*?")
			}
		}
		if !last {
			pattern += "/"
		}
	}
	if strings.HasSuffix(glob, "{,b}") || strings.Contains(glob, "{,b}/") || strings.HasPrefix(glob, "{,b}") {
		return randomGlob(r) // may be an empty part
	}
	if !wild {
		pattern += "(/.*)?"
	}
	return glob, "^" + pattern + "$"
}

// paths are all of up to three parts of up to two characters.
func paths() []string {
	var parts, list []string
	chars := []string{"a", "b", "é", "A"}
	for _, x := range chars {
		parts = append(parts, x)
		for _, y := range chars {
			parts = append(parts, x+y)
		}
	}
	before := []string{""}
	for range 3 {
		var now []string
		for _, b := range before {
			for _, p := range parts {
				now = append(now, b+p)
			}
		}
		list, before = append(list, now...), nil
		for _, n := range now {
			before = append(before, n+"/")
		}
	}
	return list
}

// For 1,000 random pairs of sets what is decided is what the paths say: no overlap is missed, and
// of each that is found the path is matched by both.
func TestOverlapsAgainstPaths(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	all := paths()
	type side struct {
		files    []string
		patterns []*regexp.Regexp
		set      globs.Set
	}
	draw := func() (s side) {
		for range 1 + r.IntN(3) {
			glob, pattern := randomGlob(r)
			s.files, s.patterns = append(s.files, glob), append(s.patterns, regexp.MustCompile(pattern))
		}
		s.set = globs.Parse(s.files)
		return s
	}
	names := func(s side, path string) bool {
		for _, p := range s.patterns {
			if p.MatchString(path) {
				return true
			}
		}
		return false
	}
	overlapping := 0
	for range 1000 {
		a, b := draw(), draw()
		steps := globs.DefaultSteps
		found, overlap := a.set.Overlap(b.set, 3, &steps)
		if overlap {
			overlapping++
		}
		if overlap != (len(found) > 0) {
			t.Fatalf("seed %d: %q and %q: %t, %q", seed, a.files, b.files, overlap, found)
		}
		for _, path := range found {
			if path != "**" && (!names(a, path) || !names(b, path) || !a.set.Match(path) || !b.set.Match(path)) {
				t.Fatalf("seed %d: %q and %q do not share %s", seed, a.files, b.files, path)
			}
		}
		for _, path := range all {
			if !overlap && names(a, path) && names(b, path) {
				t.Fatalf("seed %d: %q and %q share %s", seed, a.files, b.files, path)
			}
		}
	}
	if overlapping < 150 || overlapping > 850 {
		t.Errorf("%d of 1000 pairs overlap: the pairs show little", overlapping)
	}
}

// What is hostile ends soon, and counts as an overlap where it was not decided.
func TestHostileGlobs(t *testing.T) {
	t.Parallel()
	stars := strings.Repeat("a*", 32)
	long := strings.Repeat("a", 400)
	var one, other []string
	for i := range 100 {
		n := strings.Repeat("a", i%7)
		one, other = append(one, stars+n+"b"), append(other, stars+n+"c")
	}
	many := func(entry string) []string { return append(make([]string, 0), entry, "*"+long+entry, "?"+long+entry) }
	for name, c := range map[string][2][]string{
		"stars":           {one, other},
		"long":            {many("*b"), many("*c")},
		"too many stars":  {{strings.Repeat("a*", 250) + "b"}, {strings.Repeat("a*", 250) + "c"}},
		"too many braces": {{strings.Repeat("{a,b}", 100)}, {strings.Repeat("{c,d}", 100)}},
		"deep":            {{strings.Repeat("**/a/", 30) + "b"}, {strings.Repeat("**/a/", 30) + "c"}},
	} {
		begin := time.Now()
		steps := globs.DefaultSteps
		globs.Parse(c[0]).Overlap(globs.Parse(c[1]), 3, &steps)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
	none := globs.Steps(1)
	if paths, overlap := set("a/**").Overlap(set("b/**"), 3, &none); len(paths) > 0 || !overlap {
		t.Errorf("undecided: %q, %t", paths, overlap)
	}
	for entry, wrong := range map[string]bool{"docs/*.md": false, "!vendor/**": false, strings.Repeat("*a", 33): true,
		strings.Repeat("*a", 32): false, strings.Repeat("{a,b}", 6): false, strings.Repeat("{a,b}", 7): true, "{{{{": false} {
		if text := globs.Check(entry); (text != "") != wrong {
			t.Errorf("%s: %q", entry, text)
		}
	}
	// Those that were kept before are read as wider than they are.
	if s := set("src/" + strings.Repeat("{a,b}", 7)); !s.Match("src/x") || s.Match("lib/x") {
		t.Error("too many braces")
	}
}
