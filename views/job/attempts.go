package job

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// AttemptsPage is the page of all attempts on a job.
type AttemptsPage struct {
	Shell    layout.Shell
	Key      string
	Title    string
	JobURL   string
	Attempts []AttemptRecord // newest first
	Older    string          // the page of those before, "" where there are none
	Newest   string          // of an older part: the page of the newest
}

// AttemptRecord is an attempt with all that is kept of it.
type AttemptRecord struct {
	Attempt
	Session    string
	Claimed    ui.When
	Started    ui.When
	Ended      ui.When
	Step       string
	ErrorKind  string
	Error      string
	Stack      string
	Checkpoint string // JSON, "" for none
	Result     string // JSON, "" for none
	Lines      string // "1,000+ log lines"
	LogURL     string // "" where it wrote no line
}
