// Package events shows lines of the event log, for the timeline and the audit.
package events

import "github.com/fleetboard/fleetboard/views/ui"

// Items are the days with the link to what is older, "" at the end.
type Items struct {
	Days     []Day
	OlderURL string
	OlderID  string // of the link's element
}

// Day are the events of one day, of UTC; the page's script makes the
// days those of the reader.
type Day struct {
	Heading string // "Today", "Friday 21 November"; of a job its title
	Key     string // of a job
	URL     string
	Events  []Event
}

// Event is one line.
type Event struct {
	ID      int64
	At      ui.When
	Kind    string // "claimed"
	Bad     bool   // something was lost or has failed
	Key     string // of the job, "" for an event of the fleet
	KeyURL  string
	Title   string    // of the job, where the line does not say it elsewhere
	From    ui.Status // with To: a change of status
	To      ui.Status
	Text    ui.Sentence
	Changes []FieldChange
	More    string // "3 more" changes
	Who     Actor
	Tag     string  // "e3"
	Folded  []Event // those that this one stands for, of the same kind
}

// Actor is who did something, by the name of then.
type Actor struct {
	Name  string // "claude-2"
	Mark  string // distinguishes those of one name: "system", "person 9f3a21"
	Icon  string // by the kind
	Title string // "Agent 0198c0de-…"
	URL   string // what else that actor did, "" for no link
}

// FieldChange is a field's old and new value in a few words.
type FieldChange struct {
	Field    string
	Was, Now ui.Sentence
}
