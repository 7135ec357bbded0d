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
	Verified []Item // that are verified first
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
	Late            bool   // it waits for long
	Verdict         string // how far its verification is, "" where there is none
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
	ProofError      string            // what kept proofs from being made, "" for nothing
	Changes         *jobparts.Changes
	Comments        jobparts.Comments // on lines
	Findings        []Finding
	Verified        jobparts.Verification
	Waits           string // that nobody has to wait for a verifier, "" where none is waited for
	JSON            string // the whole result, pretty
	Acceptance      jobparts.Acceptance
	Commit          string // short
	Head            string // whole
	Branch          string
	LinkURL         string // https only
	LinkText        string
	Epoch           string // of the attempt that is decided on
	Version         string // that is decided on, "" where only the attempt matters
	Moved           *Moved // since the link that led here was sent
	Actions         []ui.Action
	CanWrite        bool
}

// Moved says what has changed since a link was sent.
type Moved struct {
	Title string
	Facts []ui.Sentence // what was and what is
	Steps []ui.Sentence // what happened, by whom and when, the newest first
	More  string        // how many more steps there are
}

// Gone says what became of a job that somebody else decided on.
type Gone struct {
	Text    ui.Sentence
	NextURL string // "" where nothing else waits
}

// Finding is a member of a result that fits into a line, such as tests.
type Finding struct {
	Name, Text string
	Tone       ui.Tone // OK and Warn get a mark
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
