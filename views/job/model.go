// Package job shows the page of one job with its graph, log and attempts, and
// the parts of it that change live.
package job

import (
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/views/events"
	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/messageparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Page is the page of one job.
type Page struct {
	Shell layout.Shell
	Job   Job
	Log   Log

	Transcript Transcript
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
	Moves   []jobparts.Move
	Actions []ui.Action
	Ways    []jobparts.Way

	Strip []StripItem // for a job with a lease, and for one that has ended
	Why   *Why        // for a job without a lease

	Body       ui.SafeHTML
	Feedback   string // the last rejection
	Question   *Question
	Thread     Thread
	Acceptance jobparts.Acceptance
	Verified   jobparts.Verification

	Graph    *Graph    // nil for a job without links
	Links    []Link    // those of the job itself
	LinkForm *LinkForm // nil for those who may not link
	Needs    []Fact
	Money    []Fact
	Limits   []Fact
	Inputs   Inputs
	LogState LogState

	Ended       bool // what came of it stands first
	Changes     *jobparts.Changes
	Result      *jobparts.Outcome
	Attempts    []Attempt
	Placement   *Placement
	AttemptNote string // "1 failure of 3, 1 loss of 5"
	Used        Used   // by all attempts
	Events      []Event
	EventNote   string      // "47", "newest 50"
	Checkpoint  string      // pretty JSON, "" shows no panel
	CheckNote   ui.Sentence // "kept 40s ago, any factory can go on from it"
	CheckBlob   *jobparts.Download
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
	Beat     ui.Tone     // a dot before the note: OK, Warn or Bad; Plain for none
	Note     ui.Sentence // "heartbeat"
	NoteWhen ui.When     // "4s ago", after the note
	NoteTone ui.Tone
	Over     ui.Overdue
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

// Thread is the end of the job's thread. URL is where the whole of it is, or where one writes
// the first message.
type Thread struct {
	Blocks []messageparts.Block
	More   bool
	URL    string
	Write  bool
}

// Fact is a row of a list of names and values.
type Fact struct {
	Name  string
	Text  ui.Sentence
	Chips []string
}

// Attempt is one lease from claim to end.
type Attempt struct {
	Number   int // the epoch
	Agent    string
	Factory  string
	Model    string    // "" where nobody knows it
	ModelWhy string    // "claude, product: large", "" where its agent did not say
	Status   ui.Status // glyph; "" uses Icon
	Icon     string
	IconTone ui.Tone
	Outcome  string // "Lost"
	Detail   string // "no heartbeat for 5m, lease taken back"
	Took     string // ended; "" while it lasts
	Running  ui.When
	Percent  string // "62%"
	Used     Used
	Talk     []jobparts.Feedback // what was said of it, oldest first
	Delivery jobparts.Delivery
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
	Who  events.Actor
	Tag  string // "e3"
}

// barVerb returns the action that stands in the top bar on small screens too, "" for
// none: the last of the main ones, without those that take something away.
func (j Job) barVerb() string {
	verb := ""
	for _, a := range j.Actions {
		if a.Main && !a.Danger {
			verb = a.Verb
		}
	}
	return verb
}

// inMenu returns the actions of the top bar's menu.
func (j Job) inMenu() []ui.Action {
	var list []ui.Action
	for _, a := range j.Actions {
		if a.Verb != j.barVerb() {
			list = append(list, a)
		}
	}
	return list
}

// used says that an attempt used a model.
func (j Job) used() bool { return j.Used != Used{} }

// attemptColumns returns how wide the table of attempts is, without their numbers.
func (j Job) attemptColumns() string {
	if j.used() {
		return "6"
	}
	return "4"
}

// stripClass fits the strip to the number of its boxes; five is the default, and that of a job
// which has ended takes any.
func stripClass(n int, ended bool) string {
	switch {
	case ended:
		return "strip-2 strip-end"
	case n == 5:
		return ""
	}
	return "strip-n" + strconv.Itoa(n)
}

func beatClass(t ui.Tone) string {
	switch t {
	case ui.Warn:
		return "live-dot-warn"
	case ui.Bad:
		return "live-dot-bad"
	default:
		return ""
	}
}

func (w Why) iconClass() string { return ui.IconTone(w.Tone) }

// cut shortens text to n letters.
func cut(s string, n int) string {
	r := []rune(ui.Clean(s))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimSpace(string(r[:n-1])) + "…"
}
