package jobparts

import "github.com/fleetboard/fleetboard/views/ui"

// Comments is what people said about lines of work, and how more is said.
type Comments struct {
	Open      string    // "3 open", "" where none is
	Elsewhere []Thread  // those whose lines are not shown
	Place     *NewPlace // nil where the reader may not comment
}

// NewPlace is what a comment may be made on.
type NewPlace struct {
	URL, Commit string
	Paths       []string
}

// Thread is a comment with its replies.
type Thread struct {
	ID         string // of the comment
	Place      string // "a.go:12"
	State      string // "Resolved by ada", "Outdated", "" where it is open and in its place
	LineText   string // what stood there, where the line is not shown
	Open       bool
	Said       []Said
	ReplyURL   string // "" where the reader may not
	ResolveURL string
}

// Said is what one said in a thread.
type Said struct {
	Author, Text string
	Agent        bool
	At           ui.When
	Edited       bool
}

func (t Thread) resolveWord() string {
	if t.Open {
		return "Resolve"
	}
	return "Reopen"
}

func (t Thread) resolveValue() string {
	if t.Open {
		return "true"
	}
	return "false"
}
