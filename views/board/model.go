// Package board shows the board: its columns, the cards in them and the first
// run, and the parts of them that change live.
package board

import (
	"crypto/sha256"
	"strings"

	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Page is the whole board.
type Page struct {
	Shell layout.Shell
	Board Board
}

// Board is the part of the page that a reset fetches again.
type Board struct {
	Total    string // "75 jobs"
	Filters  []ui.FilterMenu
	Active   []ui.ActiveFilter // one chip each
	ClearURL string            // all filters off
	Grouping ui.FilterMenu
	Search   Search
	Note     *ui.Note // unroutable jobs
	Columns  []Column // waiting, ready, running, review, done, failed
	FirstRun *ui.FirstRun
	CanWrite bool
	// NoMatch is shown above the columns when the filter hides every job.
	NoMatch *ui.Empty
}

// Search is the board's search field. Keep holds the other filters as name
// and value, so that the form does not lose them.
type Search struct {
	Query string
	Keep  []ui.HiddenField
}

// Column is one column of the board.
type Column struct {
	Name   string // "waiting", "ready", "running", "review", "done", "failed"
	Title  string // "Waiting"
	Count  string // "11", "1,000+"
	Sub    string // what limits or orders it: "2 seats free", "next first"
	About  string // more about that, shown under the pointer
	Spent  string // on the jobs that it shows: "$12.40 spent on the 20 jobs shown"
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

// groupID returns the DOM id of a group's heading. It names the group's first card
// too: a page that "Show more" brings may go on with the last page's group.
func (c Column) groupID(g CardGroup) string {
	id := "group-" + c.Name + "-" + ui.DOMID(g.Name)
	if len(g.Cards) > 0 {
		id += "-" + ui.DOMID(g.Cards[0].Key)
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
	Digest   Digest `json:"-"`
	// Same says, in a live message, that the card is as the reader has it: of all
	// else here only Key and Digest are set. Where Was is set, the digest of what the reader
	// has, the Reason is another.
	Same bool
	Was  Digest `json:"-"`

	// For a job that runs.
	Step         string           // "Reaper tests, 200 runs"; "Assigned, not started"
	Progress     ui.When          // age of the last progress
	ProgressLate bool             // amber
	Notice       *jobparts.Reason // a second line: a directive, a late heartbeat
	Collision    *jobparts.Reason // who touches the same files
	Agent        string
	Factory      string
	Elapsed      ui.When
	Over         ui.Overdue

	// Verified is how far the verification of work in review is, or what a verify job verifies.
	Verified *jobparts.Reason `json:",omitempty"`

	// For a job that does not run: the reason in one sentence.
	Reason *jobparts.Reason
	Answer string // URL where the question is answered; "" shows no button

	// The last line: "waiting 3h 12m". FootWord is what comes before the time.
	FootWord string
	Foot     ui.When
	FootLate bool // amber
	// Lost says how often its lease was lost, "" for never: "lost 2×".
	Lost      string
	LostTitle string

	// For a review: what its result reports, "3 files", "+128", "−40", and how many of
	// its criteria were checked off, "3 of 5 met".
	Files, Added, Deleted string
	Criteria              string

	// For a row: the text after the key, "fleetboard" or the error.
	Sub     string
	SubTone ui.Tone
	Ended   ui.When

	Cost      string // "" shows nothing
	CostSince string // "+0.06" since the last progress
	MuchSince string // a sentence where that is much

	MoveURL string
	Moves   []jobparts.Move
	// RankURL is where a ready job is put before or after others of the same Order; "" for other jobs.
	RankURL string
	Order   string
	Actions []ui.Action
	Ways    []jobparts.Way
}

// Digest names what a card shows, but for what the browser keeps fresh by itself: its reason,
// which alone changes on every ready job when a seat is taken, and the rest.
type Digest struct{ Reason, Rest [sha256.Size]byte }

// HasReason reports whether the card has a reason.
func (d Digest) HasReason() bool { return d.Reason != [sha256.Size]byte{} }

// DOMID returns the card's element: "card-fb-142".
func (c Card) DOMID() string { return "card-" + ui.DOMID(c.Key) }

// MoveNames lists the columns that accept the card, for the drag.
func (c Card) MoveNames() string {
	names := make([]string, len(c.Moves))
	for i, m := range c.Moves {
		names[i] = m.To
	}
	return strings.Join(names, " ")
}

// live returns the columns of jobs that go on.
func (b Board) live() []Column {
	var out []Column
	for _, c := range b.Columns {
		if !c.Rows() {
			out = append(out, c)
		}
	}
	return out
}

// finished are Failed, then Done: the style sheet turns them round where there
// is space for six columns.
func (b Board) finished() []Column {
	var done, failed []Column
	for _, c := range b.Columns {
		switch c.Name {
		case "failed":
			failed = append(failed, c)
		case "done":
			done = append(done, c)
		}
	}
	return append(failed, done...)
}
