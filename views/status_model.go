package views

import "fleetboard/views/ui"

// StatusPage says whether the server does its work by itself.
type StatusPage struct {
	Shell  Shell
	Status Status
}

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
	Fleet     string // "2 live factories, 5 agents"
	Database  string // "Answers in 2 ms"

	Counters []StatusCounter // of the term; empty where nothing was done
	// Recover is where the button goes, "" for who may not.
	Recover string
	// Log is nil for who may not read it.
	Log *StatusLog
}

// StatusCounter is how often something was done in this term.
type StatusCounter struct {
	Name, Count string
}

// StatusLog is a page of the coordinator's log, newest first.
type StatusLog struct {
	Lines []StatusLine
	Older string // URL of the lines before, "" at the end
	First string // URL of the newest lines, "" where they are shown
}

// StatusLine is one line of the log.
type StatusLine struct {
	ID      int64
	At      ui.When
	Term    string
	Tone    ui.Tone
	Message string
	Who     string // the process
}
