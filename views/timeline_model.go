package views

import "fleetboard/views/ui"

// TimelinePage is the page of the event log.
type TimelinePage struct {
	Shell    Shell
	Timeline Timeline
}

// Timeline is a part of the event log, the newest event first.
type Timeline struct {
	Groups   []FilterOption // groups of types, one of them selected
	Group    string         // the selected one's name, "" for all
	Job      string         // what the fields of the filter hold
	Actor    string
	Active   []ActiveFilter
	ClearURL string
	Older    bool   // it is not the newest part
	NewURL   string // the newest part with the same filter
	Items    TimelineItems
	Empty    *ui.Empty // set where no event is shown
}

// TimelineItems are the days with the link to what is older, "" at the end.
type TimelineItems struct {
	Days     []TimelineDay
	OlderURL string
	OlderID  string // of the link's element
}

// TimelineDay are the events of one day, of UTC; the page's script makes the
// days those of the reader.
type TimelineDay struct {
	Heading string // "Today", "Friday 21 November"
	Events  []TimelineEvent
}

// TimelineEvent is one line.
type TimelineEvent struct {
	ID      int64
	At      ui.When
	Kind    string // "claimed"
	Bad     bool   // something was lost or has failed
	Key     string // of the job, "" for an event of the fleet
	KeyURL  string
	From    ui.Status // with To: a change of status
	To      ui.Status
	Text    ui.Sentence
	Changes []FieldChange
	More    string // "3 more" changes
	Who     Actor
	Tag     string // "e3"
}

// Actor is who did something, by the name of then.
type Actor struct {
	Name  string // "claude-2"
	Mark  string // tells those of one name apart: "system", "person 9f3a21"
	Icon  string // by the kind
	Title string // "Agent 0198c0de-…"
	URL   string // what else that actor did, "" for no link
}

// FieldChange is a field's old and new value in a few words.
type FieldChange struct {
	Field, Was, Now string
}
