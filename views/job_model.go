package views

import "fleetboard/views/ui"

// JobPage is the page of one job.
type JobPage struct {
	Shell Shell
	Job   Job
	Log   JobLog
}

// Job is all that its page shows. The panel, the actions and the page's title
// are live.
type Job struct {
	Key       string
	Title     string
	Status    ui.Status
	Percent   int    // -1 when nobody said
	Column    string // "Running", the crumb
	ColumnURL string
	Meta      []ui.Sentence // repo; phase; priority 8; by Mara Ilić, <day>; third attempt
	Created   ui.When
	CreatedBy string
	Version   int

	MoveURL string
	Moves   []Move
	Actions []Action

	Strip []StripItem // for a job with a lease
	Why   *Why        // for a job without one; takes the strip's place

	Body       ui.SafeHTML
	Feedback   string // the last rejection
	Question   *Question
	Acceptance Acceptance

	Graph    *Graph    // nil for a job without links
	Links    []JobLink // those of the job itself
	LinkForm *LinkForm // nil for those who may not link
	Needs    []Fact
	Limits   []Fact
	Inputs   Inputs

	Result      *Outcome
	Attempts    []Attempt
	AttemptNote string // "1 failure of 3, 1 loss of 5"
	Used        Used   // by all attempts
	Events      []Event
	EventNote   string // "47", "newest 50"
	Checkpoint  string // pretty JSON, "" shows no panel
	CheckNote   string // "kept 40s ago, any factory can go on from it"
}

// StripItem is one box of the strip.
type StripItem struct {
	Label string // "Working on it"
	Value string // "claude-2"
	Rest  string // "on mac-1"
	Clock ui.When
	// Bar shows a progress bar of Percent before the note.
	Bar      bool
	Percent  int
	Wide     bool
	Beat     ui.Tone // a dot before the note: OK, Warn or Bad; Plain for none
	Note     string  // "heartbeat"
	NoteWhen ui.When // "4s ago", after the note
	NoteTone ui.Tone
}

// Why is the explanation of a job that does not run (promise P12).
type Why struct {
	Icon  string
	Tone  ui.Tone
	Title string // "No live factory can run FB-151"
	Lines []ui.Sentence
	Rows  []WhyRow
}

// WhyRow is one factory in the explanation.
type WhyRow struct {
	Name    string
	Text    string // "lacks", "has all 3, dead since 11:57"
	Missing []string
	Remark  string // "nearest miss"
}

// Question is what an agent asked. URL takes the answer, "" where none is
// waited for.
type Question struct {
	Agent   string
	Text    string
	Asked   ui.When
	URL     string
	Version int

	Answer   string
	By       string
	Answered ui.When
}

// Fact is a row of a list of names and values.
type Fact struct {
	Name  string
	Text  ui.Sentence
	Chips []string
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
	Touched  string // how many files
	Error    string // of a failed job, as it came
	Kind     string // of the error
	JSON     string // the whole result, pretty
}

// Attempt is one lease from claim to end.
type Attempt struct {
	Number   int // the epoch
	Agent    string
	Factory  string
	Status   ui.Status // glyph; "" uses Icon
	Icon     string
	IconTone ui.Tone
	Outcome  string // "Lost"
	Detail   string // "no heartbeat for 5m, lease taken back"
	Took     string // ended; "" while it lasts
	Running  ui.When
	Percent  string // "62%"
	Used     Used
	Talk     []Feedback // what was said of it, oldest first
}

// Used is what models were used for. The zero value is nothing, and shows nothing.
type Used struct {
	Tokens string // "12,345 in, 678 out"
	Cache  string // "300 read from the cache", "" where none was used
	Cost   string // "$0.84", "$0.84 + unpriced"
}

// Event is one line of the job's history.
type Event struct {
	ID   int64
	At   ui.When
	Kind string    // "claimed"
	From ui.Status // with To: a change of status
	To   ui.Status
	Text ui.Sentence
	Who  Actor
	Tag  string // "e3"
}
