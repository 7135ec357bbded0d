package ui

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark/ast"
	"pgregory.net/rapid"
)

// times returns a text again and again, up to so many bytes.
func times(one string, size int) string { return strings.Repeat(one, size/len(one)+1)[:size] }

// growing are lines of which each is a step longer than the one before.
func growing(size int, line func(i int) string) string {
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		b.WriteString(line(i))
	}
	return b.String()[:size]
}

// tangled are texts that took seconds to hours, or gigabytes, by the time of goldmark's
// parsers, of its tables or of its links.
func tangled(size int) map[string]string {
	half := size / 2
	return map[string]string{
		"quotes":                    times(">", size),
		"quotes and spaces":         times("> ", size),
		"quotes and tabs":           times(">\t", size),
		"quotes of lists":           times("> - ", size),
		"lists in one line":         times("- ", size) + "a",
		"numbers in one line":       times("1. ", size),
		"deeper lists":              growing(size, func(i int) string { return strings.Repeat("  ", i) + "- a\n" }),
		"deep lists and blanks":     times("- ", 1000) + "a\n" + times("\n", size-1003) + "b",
		"lists and blanks":          times("- ", 26) + "a\n" + times("\n", size-40) + "b",
		"items":                     times("- a\n", size),
		"lists that alternate":      times("- a\n* b\n", size),
		"headings":                  times("# a\n", size),
		"headings with lines":       times("a\n=\n", size),
		"brackets that open":        times("[", size),
		"brackets that close":       times("a]", size),
		"nested links":              times("[", half) + times("a](b)", half),
		"images":                    times("![](", size),
		"links without an end":      times("[a](", size),
		"addresses without an end":  times("[a](<b", size),
		"titles without an end":     times(`[a](b "`, size),
		"emphasis that opens":       times("*a_ ", size),
		"emphasis that alternates":  times("*_", size),
		"emphasis of all lengths":   times("*a **b ***c ", size),
		"tildes":                    times("~~a ~b ", size),
		"names of links":            growing(size, func(i int) string { return fmt.Sprintf("[a%d]: b\n", i) }),
		"one name":                  times("[a]: b\n", size),
		"names with open titles":    times("[a]: b\n\"", size),
		"a long address used often": "[a]: " + times("x", half-10) + "\n\n" + times("[a] [a]\n\n", half),
		"a wide table":              times("|a", 2000) + "|\n" + times("|-", 2000) + "|\n" + times("|\n", size-4005),
		"backticks":                 growing(size, func(i int) string { return "e" + strings.Repeat("`", i) }),
		"tags":                      times("<", size),
		"fences":                    times("```\n", size),
		"entities":                  times("&", size),
		"addresses":                 times("http://a.b ", size),
		"an address":                "http://a.b/" + times("&a;)", size-11),
		"keys of jobs":              times("FB-1 ", size),
		"long":                      times("a b\n", size+1),
	}
}

// simple are texts of the same kinds that goldmark reads once.
func simple(size int) map[string]string {
	return map[string]string{
		"comments":            times("<!--", size),
		"instructions":        times("a <?", size/64),
		"numbers of entities": times("&#1", size),
		"one word":            times("a", size),
		"one line":            times("a b ", size),
		"lines":               times("a\n", size),
		"blanks":              "a" + times(" ", size-2) + "b",
		"lines under a line":  times("a\n", size/2) + times("=", size/2),
		"hashes":              "# " + times("#", size-2),
		"backslashes":         times("\\", size),
		"mails":               times("a@", size),
		"code":                times("    a\n", size),
		"footnotes":           times("[^1] ", size/64) + "\n\n[^1]: a",
	}
}

// checkBounded fails where the parsing, the tree or the markup of a text exceeds what its
// length allows. It gives the counts.
func checkBounded(t rapid.TB, src string) (typed bool) {
	doc, used := parse([]byte(src[:min(len(src), maxMarkdown)]))
	nodes, depth, deepest := 0, 0, 0
	_ = ast.Walk(doc, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if depth--; entering {
			nodes, depth = nodes+1, depth+2
			deepest = max(deepest, depth)
		}
		return ast.WalkContinue, nil
	})
	if !used.exceeded && (nodes > 4*len(src)+maxCells+10 || deepest > maxNesting+maxMarkdown/50) {
		t.Errorf("%d nodes, %d deep, of %d bytes", nodes, deepest, len(src))
	}
	if used.continued > maxContinued+maxNesting || used.marked > maxMarked+maxMarkdown {
		t.Errorf("%+v", *used)
	}
	markup := render(src).html
	typed = strings.HasPrefix(markup, asTyped("").html[:40])
	if most := max(maxMarkup+maxMarkup/4, 6*len(src)+1000); len(markup) > most {
		t.Errorf("%d bytes of markup of %d", len(markup), len(src))
	}
	return typed
}

// Whatever others write, a page has it after bounded work. The time is a net: each took
// minutes or more where its bound was not there.
func TestMarkdownIsBounded(t *testing.T) {
	check := func(list map[string]string, want bool) {
		for name, src := range list {
			begun := time.Now()
			if typed := checkBounded(t, src); typed != want {
				t.Errorf("%s: shown as it was typed: %v", name, typed)
			}
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("%s took %s", name, took)
			}
		}
	}
	check(tangled(maxMarkdown), true)
	check(simple(maxMarkdown), false)
}

// Pieces of markdown, in any order and as often as they fit.
func TestMarkdownOfAnyPiecesIsBounded(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		">", "- ", "1. ", "* ", "    ", "\t", "\n", "\n\n", "[", "]", "![", "](", ")", "(", "<", ">", "*", "_", "**", "~~", "`", "```\n", "a", " ", "|", "|-", ":-",
		"[a]: b", "\"", "'", "\\", "&", "&amp;", "&#", "#", "=", "-\n", "http://a.b", "a@b.c", "www.", "<!--", "<?", "<a b=", "</", "FB-1", "[ ] ", "é", "\x00", "[^1]", "  \n",
	})
	rapid.Check(t, func(t *rapid.T) {
		var src strings.Builder
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			some := strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(t, "pieces"), "")
			src.WriteString(times(some, rapid.SampledFrom([]int{10, 1000, 32 << 10, 80 << 10}).Draw(t, "bytes")))
		}
		begun := time.Now()
		checkBounded(t, src.String())
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// Ordinary documents, also long ones, stay far below each bound.
func TestDocumentsAreFormatted(t *testing.T) {
	var all bytes.Buffer
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/adr/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := format(src[:min(len(src), maxMarkdown)]); !ok {
				_, used := parse(src)
				t.Errorf("%s: %+v", file, *used)
			}
			all.Write(append(src, '\n'))
		}
	}
	if _, ok := format(all.Bytes()[:maxMarkdown]); !ok {
		_, used := parse(all.Bytes()[:maxMarkdown])
		t.Errorf("all: %+v", *used)
	}
}

// What is shown as it was typed is whole, and no markup.
func TestTangledTextIsShownAsItWasTyped(t *testing.T) {
	for _, src := range []string{strings.Repeat("> ", 200) + "<b>end</b>", strings.Repeat("line & \"more\"\n", maxMarkdown/10) + "end"} {
		got := render(src).html
		if !strings.Contains(got, "Shown as it was typed") || !strings.Contains(got, "end") || strings.Contains(got, "<b>") || len(got) < len(src) {
			t.Errorf("%d bytes became %d: %.200s", len(src), len(got), got)
		}
	}
}
