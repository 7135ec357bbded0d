package ui

// Pips are the seats of a factory, one mark each.
type Pips struct {
	On    int // taken
	Drain int // taken, in a factory that drains
	Free  int
	Off   int // in a dead factory
}

// Option is one choice of a select.
type Option struct {
	Value, Label string
	Selected     bool
	Offline      bool // chosen before, not offered by a live factory now
}

// Toast is a message that appears at the bottom right. Bad ones stay.
type Toast struct {
	Tone        Tone
	Title       string // the fact
	Text        string // the consequence
	RequestID   string // shown in mono after the text
	ActionLabel string
	ActionURL   string // a link; "" means no action
	Undo        *Undo  // offered for ten seconds
}

// Undo takes back what a toast reports.
type Undo struct {
	URL     string
	Version int    // of the job after what was done
	About   string // the element of the job, where the page shows it
}

// Note is the bar under the top bar. At most one is shown at a time.
type Note struct {
	Tone        Tone
	Icon        string
	Strong      string   // the bold clause
	Text        Sentence // left out on small screens
	ActionLabel string   // "Show"
	ActionMore  string   // added to the label where there is space: "the 2 jobs"
	ActionURL   string
}

// Empty is what a list says when nothing is in it.
type Empty struct {
	Title, Text string
	ActionLabel string
	ActionURL   string
}
