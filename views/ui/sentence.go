package ui

import (
	"encoding/json"
	"strings"
)

// Span is one piece of a Sentence.
type Span struct {
	Text string // shown as text only, cleaned
	Href string // not empty: a link, built by views/links
	Kind SpanKind
	When When // not zero: a moment instead of Text
}

// MarshalJSON leaves out what the browser keeps fresh by itself, for digests of what is shown.
func (s Span) MarshalJSON() ([]byte, error) {
	type plain Span
	if !s.When.IsZero() {
		s.Text = ""
	}
	return json.Marshal(plain(s))
}

// SpanKind is how a Span looks.
type SpanKind int

// The kinds of Span.
const (
	SpanText   SpanKind = iota
	SpanKey             // mono, for keys, capabilities, repos as values
	SpanStrong          // the one bold clause
	SpanName            // a name that must not break: mac-1, linux-2
)

// Sentence is a line of text with names, keys and links in it. Handlers build
// it from T, Key, Strong, Name, Link and Moment:
//
//	ui.Say(ui.T("Waits for "), ui.Link("FB-142", links.Job("FB-142")))
type Sentence []Span

// Say makes a Sentence of spans.
func Say(spans ...Span) Sentence { return spans }

// Text makes a Sentence of plain text; "" gives an empty one.
func Text(s string) Sentence {
	if s == "" {
		return nil
	}
	return Sentence{T(s)}
}

// T is plain text.
func T(s string) Span { return Span{Text: s} }

// Key returns a value in mono.
func Key(s string) Span { return Span{Text: s, Kind: SpanKey} }

// Strong returns the bold clause.
func Strong(s string) Span { return Span{Text: s, Kind: SpanStrong} }

// Name returns a name that does not break at its hyphen.
func Name(s string) Span { return Span{Text: s, Kind: SpanName} }

// Link returns a link inside a sentence. The href must come from views/links.
func Link(s, href string) Span { return Span{Text: s, Href: href} }

// Moment returns a moment inside a sentence.
func Moment(w When) Span { return Span{When: w, Text: w.Text} }

// String returns the sentence without its markup.
func (s Sentence) String() string {
	var b strings.Builder
	for _, p := range s {
		b.WriteString(Clean(p.Text))
	}
	return b.String()
}
