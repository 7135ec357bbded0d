// Package review shows the queue of jobs that wait for a decision, and the one
// that is decided on.
package review

import (
	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Review is all that the page shows. All of it is live; the dialogs stay as long as
// there is none, so that nothing is taken from under a reason that is being written.
type Review struct {
	Count    string // "4 wait for a decision"
	Queue    []Item
	Place    string // "1 of 4", "" where the shown job is not among them
	FirstURL string // back to the oldest, "" on the first page
	NextURL  string // the rest of the queue, "" on the last page
	Approved []Item
	Merging  string // "2", "50+"
	Before   string // the neighbours' addresses, "" for none
	After    string
	Job      *Job // nil where nothing waits
	Dialogs  []ui.Action
}

// Item is a job of the queue.
type Item struct {
	Key, Title, URL string
	Status          ui.Status
	Current         bool
	Repo            string // or the product, where there is no repo
	Since           ui.When
	Late            bool // it waits for long
	Priority        int
	Agent           string
	Product         string // "" for the default one
	Counted         bool   // Added and Deleted are known
	Added, Deleted  int
}

// Job is the job that is decided on.
type Job struct {
	Key, Title, URL string
	Status          ui.Status
	Meta            []ui.Sentence
	Gone            *Gone               // it is no longer up for a decision
	Sent            []jobparts.Feedback // what earlier attempts got, newest first
	Summary         ui.SafeHTML
	Body            ui.SafeHTML
	Delivery        jobparts.Delivery // of its commit
	Warnings        []string          // what to look at before all else
	Changes         *Changes
	Findings        []Finding
	JSON            string // the whole result, pretty
	Acceptance      jobparts.Acceptance
	Commit          string // short
	Head            string // whole
	Branch          string
	LinkURL         string // https only
	LinkText        string
	Epoch           string // of the attempt that is decided on
	Actions         []ui.Action
	CanWrite        bool
}

// Gone says what became of a job that somebody else decided on.
type Gone struct {
	Text    ui.Sentence
	NextURL string // "" where nothing else waits
}

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
}

// Finding is a member of a result that fits into a line, such as tests.
type Finding struct {
	Name, Text string
	Tone       ui.Tone // OK and Warn get a mark
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

func (f Finding) icon() string {
	switch f.Tone {
	case ui.OK:
		return "circle-check"
	case ui.Warn, ui.Bad:
		return "triangle-alert"
	default:
		return "info"
	}
}
