// Package jobparts holds what several pages show of a job: its moves, its
// acceptance criteria, its result and what was said of it.
package jobparts

import (
	"strconv"

	"github.com/fleetboard/fleetboard/views/ui"
)

// Reason is why a job does not move.
type Reason struct {
	Icon string // "link", "lock", "unplug"
	Text ui.Sentence
	Tone ui.Tone
	Ask  bool // an agent's question
}

// Way is a form that a job leads to.
type Way struct {
	Name, Label, Icon, URL string
	Key                    string // the single key that follows it, "" for none
}

// columnOrder is the order of the columns, and so the digit that moves a card.
var columnOrder = []string{"waiting", "ready", "running", "review", "done", "failed"}

// ColumnNumber returns the digit that moves a card to a column.
func ColumnNumber(name string) string {
	for i, c := range columnOrder {
		if c == name {
			return strconv.Itoa(i + 1)
		}
	}
	return ""
}

// Class returns the look of the reason.
func (r *Reason) Class() string {
	if r.Ask {
		return "r-ask"
	}
	if r.Tone == "ok" {
		return "r-ok"
	}
	return r.Tone.TextClass()
}

// Feedback is what a person wrote about an attempt.
type Feedback struct {
	Icon string
	What string // "Sent back by Mara Ilić"
	At   ui.When
	Text string
}

// Acceptance is a check list. A person ticks it where URL is set.
type Acceptance struct {
	Items []Criterion
	Note  string // "2 of 4"
	// Others are proofs of criteria that have changed since.
	Others []Proof
	URL    string // links.JobTick
}

// Criterion is one acceptance criterion.
type Criterion struct {
	Text string
	Met  bool
	Said *Judged // by the newest verifier, nil where none has
	// Proofs show that it is met.
	Proofs []Proof
}

// Proof is a content that shows that a criterion is met.
type Proof struct {
	Title string // the name of a file
	Blob  string // the SHA-256 of its content
	Of    string // the commit that it is of, and the criterion where that is not beside it
	URL   string // where it is looked at
	// Picture has it shown; Text is the beginning of a text, "" where it is not read.
	Picture bool
	Text    string
}

// Move is a column that a card can go to now, and what going there means.
type Move struct {
	To    string    // column: "ready"
	Glyph ui.Status // shown before the words
	Label string    // "Ready, give the lease back"
	// Ask is the address of the dialog before it, AskPage that of the job's page with
	// it open; "" where there is none.
	Ask, AskPage string
}

// Outcome is what the work came to.
type Outcome struct {
	Summary  ui.SafeHTML
	Commit   string
	Branch   string
	LinkURL  string // https only; else it is shown as text
	LinkText string
	Approved string // the commit
	Merged   string // the commit
	Merge    *Merge // nil where no job merges it
	Touched  string // how many files
	Error    string // of a failed job, as it came
	Kind     string // of the error
	JSON     string // the whole result, pretty
	Blob     *Download
}

// Download is the way to a blob, nil where there is none.
type Download struct {
	URL  string
	Size string
}

// Merge is the job that merges another one.
type Merge struct {
	Label string      // "Merged by"
	Job   ui.Sentence // its key, and what it does
	Pull  string      // https address of its pull request, "" for none
}

// hasFacts reports whether there is more to show than words.
func (o Outcome) hasFacts() bool {
	return o.Commit != "" || o.Branch != "" || o.LinkText != "" || o.Approved != "" || o.Merged != "" || o.Touched != "" || o.Kind != "" ||
		o.Merge != nil || o.Blob != nil
}

// checked returns a state of a check mark, in words that ARIA knows.
func (c Criterion) checked() string { return strconv.FormatBool(c.Met) }

// wanted returns what pressing the criterion makes of it.
func (c Criterion) wanted() string { return strconv.FormatBool(!c.Met) }
