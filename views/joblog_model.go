package views

import "fleetboard/views/ui"

// JobLogPage is the page of a job's log.
type JobLogPage struct {
	Shell Shell
	Title string // of the job
	Log   JobLog
}

// JobLog is a part of what agents wrote down while they worked on a job.
type JobLog struct {
	Key      string
	JobURL   string
	LogURL   string // its page, with all levels and attempts
	Filters  []LogFilter
	Attempt  int       // the one attempt that is shown, 0 for all
	Part     bool      // an older part, which has no live changes
	Newest   string    // of a part: the page with the newest lines
	Older    string    // the page of the lines before these
	HasOlder bool      // there are some
	Lines    []LogLine // oldest first
	LiveURL  string    // "" for a log without a stream
	Tall     bool      // on a page of its own
}

// LogFilter is a choice of levels.
type LogFilter struct {
	Label, URL string
	Current    bool
}

// LogLine is one line.
type LogLine struct {
	ID      int64
	At      ui.When
	Level   string // "Warning"
	Tone    LogTone
	Agent   string
	Attempt int
	Event   string
	Message string
	Whole   string // the whole message where Message is the beginning of it
	Details string // JSON, "" for none
}

// LogTone is how grave a line looks.
type LogTone int

// The tones of a log.
const (
	LogPlain LogTone = iota
	LogQuiet
	LogWarn
	LogBad
	LogWorst
)
