package job

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
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
	PageURL  string // its page, where a search is sent
	FileURL  string // the whole of it as a file
	State    LogState
	Level    string // what the filter and the search are narrowed to
	Text     string
	AllURL   string    // without the search
	Attempt  int       // the one attempt that is shown, 0 for all
	Part     bool      // an older part, which has no live changes
	Newest   string    // of a part: the page with the newest lines
	Older    string    // the page of the lines before these
	HasOlder bool      // there are some
	Lines    []LogLine // oldest first
	LiveURL  string    // "" for a log without a stream
	Tall     bool      // on a page of its own
}

// LogState says whether more lines are to come.
type LogState struct {
	Tone  ui.Tone // OK, Warn, or Plain where there is nobody to write
	Word  string  // "live", "agent silent since"
	Since ui.When
}

// LogPiece is a part of a message, found by a search or not.
type LogPiece struct {
	Text string
	Hit  bool
}

// LogFilter is a choice of levels.
type LogFilter struct {
	Label, URL string
	Current    bool
}

// LogLine is one line.
type LogLine struct {
	ID      int64
	URL     string // the line among those around it
	At      ui.When
	Level   string // "Warning"
	Tone    LogTone
	Agent   string
	Attempt int
	Event   string
	Message []LogPiece
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

// emptyText returns what a log without lines says.
func (l Log) emptyText() string {
	switch {
	case l.Text != "" && l.HasOlder:
		return "No such line among those that were looked at. There are older ones."
	case l.Text != "":
		return "No line has this text."
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

// newerURL returns the page around the last of the lines, "" where none is shown.
func (l Log) newerURL() string {
	if len(l.Lines) == 0 {
		return ""
	}
	return l.Lines[len(l.Lines)-1].URL
}
