package views

import (
	"strings"

	"fleetboard/views/ui"
)

// BoardPage is the whole board.
type BoardPage struct {
	Shell Shell
	Board Board
}

// Board is the part of the page that a reset fetches again.
type Board struct {
	Total    string // "75 jobs"
	Filters  []FilterMenu
	Active   []ActiveFilter // one chip each
	ClearURL string         // all filters off
	Grouping FilterMenu
	Search   Search
	Note     *ui.Note // unroutable jobs
	Columns  []Column // waiting, ready, running, review, done, failed
	FirstRun *FirstRun
	CanWrite bool
	// NoMatch is shown above the columns when the filter hides every job.
	NoMatch *ui.Empty
}

// FilterMenu is a menu of links.
type FilterMenu struct {
	ID      string // "product"
	Label   string // "Product", "Group: status"
	Options []FilterOption
}

// FilterOption is one link of a FilterMenu.
type FilterOption struct {
	Label    string
	URL      string
	Selected bool
}

// ActiveFilter is a chip with a cross.
type ActiveFilter struct {
	Text      string // "Priority 3 or more"
	RemoveURL string
}

// Search is the board's search field. Keep holds the other filters as name
// and value, so that the form does not lose them.
type Search struct {
	Query string
	Keep  []Field
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// Column is one column of the board.
type Column struct {
	Name   string // "waiting", "ready", "running", "review", "done", "failed"
	Title  string // "Waiting"
	Count  string // "11", "1,000+"
	Sub    string // what limits it: "2 seats free", "limit 8"
	Groups []CardGroup
	// MoreURL is links.BoardColumn with the next cursor, "" at the end.
	MoreURL string
	Empty   ui.Empty
}

// Rows says that the jobs of the column are two-line rows, not cards.
func (c Column) Rows() bool { return c.Name == "done" || c.Name == "failed" }

// CardGroup is a run of cards under one heading; without grouping there is one
// with an empty name.
type CardGroup struct {
	Name  string
	Cards []Card
}

// groupID is the DOM id of a group's heading. It names the group's first card
// too: a page that "Show more" brings may go on with the last page's group.
func (c Column) groupID(g CardGroup) string {
	id := "group-" + c.Name + "-" + domID(g.Name)
	if len(g.Cards) > 0 {
		id += "-" + domID(g.Cards[0].Key)
	}
	return id
}

// Card is a job on the board. The same card is a two-line row in the columns
// done and failed.
type Card struct {
	Key      string
	Title    string
	URL      string
	Column   string
	Status   ui.Status
	Percent  int    // of the progress, -1 when nobody said
	Place    string // "ledger-api · M2"
	Priority int
	Version  int
	// Same says, in a live message, that the card is as the reader has it: of all
	// else here only Key is set.
	Same bool

	// For a job that runs.
	Step         string  // "Reaper tests, 200 runs"; "Assigned, not started"
	Progress     ui.When // age of the last progress
	ProgressLate bool    // amber
	Notice       *Reason // a second line: a directive, a late heartbeat
	Agent        string
	Factory      string
	Elapsed      ui.When

	// For a job that does not run: the reason in one sentence.
	Reason *Reason
	Answer string // URL where the question is answered; "" shows no button

	// The last line: "waiting 3h 12m". FootWord is what comes before the time.
	FootWord string
	Foot     ui.When
	FootLate bool // amber
	// Lost says how often its lease was lost, "" for never: "lost 2×".
	Lost      string
	LostTitle string

	// For a row: the text after the key, "fleetboard" or the error.
	Sub     string
	SubTone ui.Tone
	Ended   ui.When

	Cost      string // "" shows nothing
	CostSince string // "+0.06" since the last progress

	MoveURL string
	Moves   []Move
	Actions []Action
}

// Reason is why a job does not move.
type Reason struct {
	Icon string // "link", "lock", "unplug"
	Text ui.Sentence
	Tone ui.Tone
	Ask  bool // an agent's question
}

// DOMID is the card's element: "card-fb-142".
func (c Card) DOMID() string { return "card-" + domID(c.Key) }

// MoveNames lists the columns that accept the card, for the drag.
func (c Card) MoveNames() string {
	names := make([]string, len(c.Moves))
	for i, m := range c.Moves {
		names[i] = m.To
	}
	return strings.Join(names, " ")
}

// FactoryID is the DOM id of a factory's panel: "factory-mac-1".
func FactoryID(name string) string { return "factory-" + domID(name) }

// domID makes a name fit for an id: letters, digits and hyphens; anything else
// becomes its number, so that two names never share an id.
func domID(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			b.WriteRune(r)
			continue
		}
		b.WriteString("_")
		b.WriteString(hex(r))
	}
	return b.String()
}

func hex(r rune) string {
	const digits = "0123456789abcdef"
	if r < 16 {
		return digits[r : r+1]
	}
	return hex(r>>4) + digits[r&15:r&15+1]
}

// FirstRun is the board's empty state: no job and no factory yet.
type FirstRun struct {
	Server    string // "http://127.0.0.1:8080"
	TokenFile string // path of the enrolment token on the server's machine
	Factory   string // name of the first factory, "" while there is none
	Agent     string
	CanWrite  bool
}
