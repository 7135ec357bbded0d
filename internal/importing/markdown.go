package importing

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

var task = regexp.MustCompile(`^([ \t]*)(?:[-*+]|\d+[.)])[ \t]+\[([ xX])\][ \t]+(.*)$`)

// fence begins and ends a block of code, in which nothing is a task.
var fence = regexp.MustCompile("^[ \t]*(```|~~~)")

// maxSlug is how much of a text stands in its source, in runes.
const maxSlug = 60

// Markdown reads a list of tasks. A task depends on those that are indented below it.
func Markdown(name string, from io.Reader) ([]Item, error) {
	lines, err := linesOf(from)
	if err != nil {
		return nil, err
	}
	type open struct{ indent, item int }
	var items []Item
	var above []open
	seen := map[string]int{}
	within := ""
	for i, raw := range lines {
		line := strings.ToValidUTF8(string(raw), "\ufffd")
		if mark := fence.FindStringSubmatch(line); mark != nil && (within == "" || within == mark[1]) {
			if within == "" {
				within = mark[1]
			} else {
				within = ""
			}
			continue
		}
		if within != "" {
			continue
		}
		if strings.HasPrefix(line, "#") {
			above = nil
			continue
		}
		found := task.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		indent := len(strings.ReplaceAll(found[1], "\t", "    "))
		for len(above) > 0 && above[len(above)-1].indent >= indent {
			above = above[:len(above)-1]
		}
		one := Item{Title: lineText(found[3]), Done: found[2] != " ", Line: i + 1}
		one.Source = "markdown:" + lineText(filepath.Base(name)) + "#" + slug(one.Title)
		if len(above) > 0 {
			one.Source = items[above[len(above)-1].item].Source + "/" + slug(one.Title)
		}
		base := one.Source
		for seen[one.Source] > 0 {
			seen[base]++
			one.Source = fmt.Sprintf("%s-%d", base, seen[base])
		}
		seen[one.Source] = max(seen[one.Source], 1)
		if len(above) > 0 {
			parent := &items[above[len(above)-1].item]
			parent.DependsOn = append(parent.DependsOn, one.Source)
		}
		above = append(above, open{indent, len(items)})
		items = append(items, one)
	}
	return unique(items)
}

// slug is a text in lower case with hyphens between its words.
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
