// Package statuspage shows whether the server does its work by itself.
package statuspage

import (
	"github.com/fleetboard/fleetboard/views/ui"
)

// Status is what the page shows.
type Status struct {
	Word string // "Working", "Late", "Nobody leads"
	Icon string
	Tone ui.Tone
	// Note explains what is not well, and what goes on all the same.
	Note ui.Sentence

	Leader    string // "" before the first election
	Term      string
	Since     ui.When
	LastCycle ui.When
	Cycles    string
	Version   string // "v1.2.0, schema 66", "" where it is not known
	Fleet     string // "2 live factories, 5 agents"
	Database  string // "Answers in 2 ms"
	Wakeups   string // "NATS is connected"
	// LastMessage is when the last wake-up came.
	LastMessage ui.When

	// Backups is nil where the server makes none.
	Backups *Backups
	// BackupNote says why none are made; empty where all is well.
	BackupNote ui.Sentence

	Servers  []Server // that live, the oldest first
	Proofs   Proofs
	Charts   Charts
	Counters []Counter // of the term; empty where nothing was done
	// Recover is where the button goes, "" for who may not.
	Recover string
	// Log is nil for who may not read it.
	Log *Log
}

// Backups are those that the server makes by itself.
type Backups struct {
	None string // said where there is none yet, else ""
	Last ui.When
	// Reached is up to when any second can be restored; zero where the log is not archived yet.
	Reached ui.When
}

// Proofs say what was looked at after changes of PostgreSQL, and what is missing; empty where there was
// none.
type Proofs struct {
	Lines []ProofLine
	Note  string // says that losses are known, "" for who may not and where all are
}

// ProofLine is one look, or one loss.
type ProofLine struct {
	ID         string
	At         ui.When
	What, Text string
	Tone       ui.Tone
}

// Charts are of the last 24 hours; empty where nothing is known of them.
type Charts struct{ List []ui.BarChart }

// Server is one of the servers of the database.
type Server struct {
	Name, Version string
	Since         ui.When
	// Coordinates marks the one that leads.
	Coordinates bool
}

// Counter is how often something was done in this term.
type Counter struct {
	Name, Count string
}

// Log is a page of the coordinator's log, newest first.
type Log struct {
	Lines []Line
	Older string // URL of the lines before, "" at the end
	First string // URL of the newest lines, "" where they are shown
}

// Line is one line of the log.
type Line struct {
	ID      int64
	At      ui.When
	Term    string
	Tone    ui.Tone
	Message string
	Who     string // the process
}

// pillClass returns the colour of the word that sums the page up.
func pillClass(t ui.Tone) string {
	switch t {
	case ui.OK:
		return "st-completed"
	case ui.Warn:
		return "st-paused"
	case ui.Bad:
		return "st-failed"
	default:
		return "st-waiting"
	}
}
