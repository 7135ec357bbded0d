package ui

import (
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/fleetboard/fleetboard/views/links"
)

// jobKey is the form of the keys that workspaces give their jobs.
const jobKey = "FB-[1-9][0-9]{0,9}"

var jobKeys = regexp.MustCompile(jobKey)

// jobLinks turns the keys of jobs into links, except in code and in links. Whether
// there is such a job is for its page to say.
type jobLinks struct{}

// Transform is called by goldmark for every parsed text.
func (jobLinks) Transform(doc *ast.Document, src text.Reader, _ parser.Context) {
	var found []*ast.Text
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // never fails: the walker does not
		switch n.Kind() {
		case ast.KindCodeSpan, ast.KindLink, ast.KindAutoLink, ast.KindImage:
			return ast.WalkSkipChildren, nil
		case ast.KindText:
			if t, ok := n.(*ast.Text); ok && entering {
				found = append(found, t)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, t := range found {
		linkKeys(t, src.Source())
	}
}

// linkKeys puts links before what is left of a text.
func linkKeys(t *ast.Text, src []byte) {
	at := t.Segment
	for _, m := range jobKeys.FindAllIndex(at.Value(src), -1) {
		key := text.NewSegment(at.Start-at.Padding+m[0], at.Start-at.Padding+m[1])
		if key.Start < t.Segment.Start || !standsAlone(src, key) {
			continue
		}
		link := ast.NewLink()
		link.Destination = []byte(links.Job(string(key.Value(src))))
		link.AppendChild(link, ast.NewTextSegment(key))
		if key.Start > t.Segment.Start {
			t.Parent().InsertBefore(t.Parent(), t, ast.NewTextSegment(text.NewSegment(t.Segment.Start, key.Start)))
		}
		t.Parent().InsertBefore(t.Parent(), t, link)
		t.Segment = text.NewSegment(key.Stop, at.Stop)
	}
}

// standsAlone says that a key is no part of a longer word, path or branch.
func standsAlone(src []byte, key text.Segment) bool {
	before, _ := utf8.DecodeLastRune(src[:key.Start])
	after, _ := utf8.DecodeRune(src[key.Stop:])
	return !partOfWord(before) && !partOfWord(after)
}

func partOfWord(r rune) bool {
	return r == '-' || r == '_' || r == '/' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// jobWords returns the parts of a plain text, cleaned, with its keys of jobs as links.
func jobWords(s string) Sentence {
	src, said, from := []byte(CleanLines(s)), Sentence{}, 0
	for _, m := range jobKeys.FindAllIndex(src, -1) {
		key := text.NewSegment(m[0], m[1])
		if !standsAlone(src, key) {
			continue
		}
		word := string(key.Value(src))
		said = append(said, T(string(src[from:key.Start])), Link(word, links.Job(word)))
		from = key.Stop
	}
	return append(said, T(string(src[from:])))
}
