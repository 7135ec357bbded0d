package jobparts

import "github.com/fleetboard/fleetboard/views/ui"

// Changes are the files that a result says were changed.
type Changes struct {
	Count          int
	Counted        bool // Added and Deleted are known
	Added, Deleted int
	Files          []ChangedFile
	Hidden         int      // files beyond those listed
	Conflicts      []string // places with markers of a conflict, as FILE:LINE
	PatchURL       string   // the whole patch as a file, "" for none
}

// ChangedFile is one of them.
type ChangedFile struct {
	Path           string
	Note           string // "new", "deleted"
	Counted        bool
	Added, Deleted int
	Lines          []DiffLine
	Commentable    bool // a click on a line's number begins a comment
	Open           bool // its lines are shown at once
	Cut            bool // there are more lines than shown
}

// DiffKind is what a line of a diff is.
type DiffKind string

// The kinds, as their classes end.
const (
	DiffSame    DiffKind = "c"
	DiffAdded   DiffKind = "a"
	DiffDeleted DiffKind = "d"
	DiffHead    DiffKind = "h"
)

// DiffLine is a line of a diff; Old and New are its numbers.
type DiffLine struct {
	Kind     DiffKind
	Old, New string
	Text     string
	Threads  []Thread // what was said about it
}

// Number returns the number of the line on a side, "" where it is not there.
func (l DiffLine) Number(side string) string {
	if side == "old" {
		return l.Old
	}
	return l.New
}

// squares returns the five marks beside a file: how much of the change was added.
func (f ChangedFile) squares() [5]string {
	var marks [5]string
	all := f.Added + f.Deleted
	for i := range marks {
		switch {
		case all == 0:
			marks[i] = "sq-n"
		case i*all < f.Added*5:
			marks[i] = "sq-a"
		default:
			marks[i] = "sq-d"
		}
	}
	return marks
}

func (l DiffLine) mark() string {
	switch l.Kind {
	case DiffAdded:
		return "+"
	case DiffDeleted:
		return "−"
	default:
		return ""
	}
}

// firstOpen returns the file whose lines are shown at once: the first that has any.
func (c Changes) firstOpen() int {
	for i, f := range c.Files {
		if len(f.Lines) > 0 {
			return i
		}
	}
	return -1
}

func (c Changes) note() string {
	if c.Count == 0 {
		return ""
	}
	if c.Count == 1 {
		return "1 file"
	}
	return ui.Count(c.Count) + " files"
}
