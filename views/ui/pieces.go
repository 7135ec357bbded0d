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

// Note is the bar under the top bar. At most one is shown at a time, the gravest.
type Note struct {
	// Key names what it says, so that it can be put away until that changes; "" where it stays.
	Key    string
	About  string // what it is about: a page about the same does without
	List   string // the page that lists all of the kind
	Grave  int
	Others int  // facts of the kind that it does not name
	Hidden bool // put away, or a graver one is shown
	// More is how many facts it does not name, of all kinds; MoreURL lists them.
	More    int
	MoreURL string

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

// AgentPlace names an agent and its factory, "claude-2 · mac-1"; one name where they share it.
func AgentPlace(agent, factory string) string {
	if agent == factory {
		return agent
	}
	return agent + " · " + factory
}
