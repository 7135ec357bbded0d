package views

import "fleetboard/views/ui"

// ReviewPage is the page of the jobs that wait for a decision.
type ReviewPage struct {
	Shell  Shell
	Review Review
}

// Review is all that the page shows. The queue and the job are live; the dialogs
// are not, so that nothing is taken from under a reason that is being written.
type Review struct {
	Count    string // "4 wait for a decision"
	Queue    []ReviewItem
	Place    string // "1 of 4", "" where the shown job is not among them
	FirstURL string // back to the oldest, "" on the first page
	NextURL  string // the rest of the queue, "" on the last page
	Approved []ReviewItem
	Merging  string // "2", "50+"
	Before   string // the neighbours' addresses, "" for none
	After    string
	Job      *ReviewJob // nil where nothing waits
	Dialogs  []Action
}

// ReviewItem is a job of the queue.
type ReviewItem struct {
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

// ReviewJob is the job that is decided on.
type ReviewJob struct {
	Key, Title, URL string
	Status          ui.Status
	Meta            []ui.Sentence
	Gone            *ReviewGone // it is no longer up for a decision
	Sent            []Feedback  // what earlier attempts were told, newest first
	Summary         ui.SafeHTML
	Body            ui.SafeHTML
	Changes         *Changes
	Findings        []Finding
	JSON            string // the whole result, pretty
	Acceptance      Acceptance
	Commit          string // short
	Head            string // whole
	Branch          string
	LinkURL         string // https only
	LinkText        string
	Epoch           string // of the attempt that is decided on
	Actions         []Action
	CanWrite        bool
}

// ReviewGone says what became of a job that somebody else decided on.
type ReviewGone struct {
	Text    ui.Sentence
	NextURL string // "" where nothing else waits
}

// Feedback is what a person wrote about an attempt.
type Feedback struct {
	Icon string
	What string // "Sent back by Mara Ilić"
	At   ui.When
	Text string
}

// Changes are the files that a result says were changed.
type Changes struct {
	Count          int
	Counted        bool // Added and Deleted are known
	Added, Deleted int
	Files          []ChangedFile
	Hidden         int // files beyond those listed
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

// Acceptance is a check list. A person ticks it where URL is set.
type Acceptance struct {
	Items []Criterion
	Note  string // "2 of 4"
	URL   string // links.JobTick
}

// Criterion is one acceptance criterion.
type Criterion struct {
	Text string
	Met  bool
}
