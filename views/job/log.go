package job

import (
	"fleetboard/views/layout"
	"fleetboard/views/ui"
)

// LogPage is the page of a job's log.
type LogPage struct {
	Shell layout.Shell
	Title string // of the job
	Log   Log
}

// Log is a part of what agents wrote down while they worked on a job.
type Log struct {
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

// levelClass colours the word of a level; the word says the same.
func (t LogTone) levelClass() string {
	switch t {
	case LogQuiet:
		return "text-faint"
	case LogWarn:
		return "text-amber"
	case LogBad:
		return "text-red"
	case LogWorst:
		return "text-red font-semibold"
	default:
		return "text-muted"
	}
}

// lineClass colours the message of a grave line.
func (t LogTone) lineClass() string {
	switch t {
	case LogWarn:
		return "log-warn"
	case LogBad, LogWorst:
		return "log-error"
	default:
		return ""
	}
}

// emptyText is what a log without lines says.
func (l Log) emptyText() string {
	switch {
	case l.Part:
		return "There are no older lines."
	case len(l.Filters) > 0 && !l.Filters[0].Current:
		return "No line of these levels."
	default:
		return "No agent has written anything yet."
	}
}

// moreLabel names what a line holds beside its beginning.
func (l LogLine) moreLabel() string {
	if l.Whole != "" {
		return "all of it"
	}
	return "details"
}
