package importing

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// task is the first line of a task's item, comment what nobody sees of it.
var (
	task    = regexp.MustCompile(`^\[([ xX])\](?:[ \t]+(.*))?$`)
	comment = regexp.MustCompile(`<!--.*?(-->|$)`)
)

// maxSlug is how much of a text stands in its source, in runes.
const maxSlug = 60

// Markdown reads a list of tasks, as CommonMark has them: not in code, nor in comments. A
// task depends on those that are indented below it.
func Markdown(name string, from io.Reader) ([]Item, error) {
	lines, err := readLines(from)
	if err != nil {
		return nil, err
	}
	src := []byte(strings.ToValidUTF8(string(bytes.Join(lines, []byte("\n"))), "\ufffd"))
	t := tasks{src: src, file: "markdown:" + lineText(filepath.Base(name)) + "#", seen: map[string]int{}, line: 1}
	t.read(parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...)).Parse(text.NewReader(src)), -1)
	return unique(t.items)
}

// tasks are those of a file that were read so far.
type tasks struct {
	src   []byte
	file  string // what the sources begin with
	items []Item
	seen  map[string]int // how often a source was wanted
	at    int            // up to where lines were counted
	line  int
}

// read reads the tasks in a block, which are below the one with the index above, -1 for none.
func (t *tasks) read(block ast.Node, above int) {
	for child := block.FirstChild(); child != nil; child = child.NextSibling() {
		below := above
		if child.Kind() == ast.KindListItem {
			if first := child.FirstChild(); first != nil && first.Lines() != nil && first.Lines().Len() > 0 {
				below = t.add(first.Lines().At(0), above)
			}
		}
		if child.HasChildren() {
			t.read(child, below)
		}
	}
}

// add adds the task that begins with a line, and gives its index; that of the one above where
// the line begins none.
func (t *tasks) add(line text.Segment, above int) int {
	found := task.FindSubmatch(bytes.TrimSpace(line.Value(t.src)))
	if found == nil {
		return above
	}
	t.line += bytes.Count(t.src[t.at:line.Start], []byte("\n"))
	t.at = line.Start
	one := Item{Title: lineText(comment.ReplaceAllString(string(found[2]), "")), Done: string(found[1]) != " ", Line: t.line}
	one.Source = t.file + slug(one.Title)
	if above >= 0 {
		one.Source = t.items[above].Source + "/" + slug(one.Title)
	}
	base := one.Source
	for t.seen[one.Source] > 0 {
		t.seen[base]++
		one.Source = fmt.Sprintf("%s-%d", base, t.seen[base])
	}
	t.seen[one.Source] = max(t.seen[one.Source], 1)
	if above >= 0 {
		t.items[above].DependsOn = append(t.items[above].DependsOn, one.Source)
	}
	t.items = append(t.items, one)
	return len(t.items) - 1
}

// slug returns a text in lower case with hyphens between its words.
func slug(text string) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range strings.ToLower(text) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = n > 0
			continue
		}
		if n >= maxSlug {
			break
		}
		if gap {
			b.WriteByte('-')
		}
		b.WriteRune(r)
		n, gap = n+1, false
	}
	return b.String()
}
