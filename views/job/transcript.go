package job

import (
	"strconv"

	"github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// TranscriptPage is the page of a job's transcript.
type TranscriptPage struct {
	Shell      layout.Shell
	Title      string // of the job
	Transcript Transcript
}

// Transcript is a part of what the agent of an attempt did, step by step.
type Transcript struct {
	Key      string
	JobURL   string
	PageURL  string // its page, where a search is sent
	Attempt  int    // 0 where no agent has told any step
	Attempts []LogFilter
	Kinds    []LogFilter
	Kind     string // what the search is narrowed to
	Text     string
	AllURL   string // without the search
	Sum      TranscriptSum
	Part     bool   // an older part, which has no live changes
	Newest   string // of a part: the page with the newest steps
	Newer    string // of a part: the page of those behind it
	Older    string // the page of the steps before these
	HasOlder bool
	Steps    []Step // in their order
	LiveURL  string // "" for one without a stream
	Tall     bool   // on a page of its own
}

// TranscriptSum is what an attempt took so far.
type TranscriptSum struct {
	Steps, Tokens, Cost string // in words
	LeftOut             string // "" where nothing was
}

// Step is one thing that an agent did.
type Step struct {
	N       int64
	URL     string // the step among those around it
	At      ui.When
	Kind    string // in a word
	Icon    string
	Quiet   bool
	Title   []LogPiece
	Tool    string
	Path    string
	Text    string              // below the title, "" where that says all
	Diff    []jobparts.DiffLine // of an edit, in place of Text
	TextURL string              // all of the text, where it is cut
	BlobURL string
	Spent   string // "1,200 tokens, $0.01"
	Open    bool   // the text is shown at once
}

// id is how a link finds a step.
func (s Step) id() string { return "step-" + strconv.FormatInt(s.N, 10) }

// moreLabel names what a step holds below its title.
func (s Step) moreLabel() string {
	if len(s.Diff) > 0 {
		return "diff"
	}
	return "text"
}

// emptyText returns what a transcript without steps says.
func (t Transcript) emptyText() string {
	switch {
	case t.Attempt == 0:
		return "No agent has told what it does yet."
	case t.Text != "" && t.HasOlder:
		return "No such step among those that were looked at. There are older ones."
	case t.Text != "":
		return "No step has this text."
	case t.Kind != "":
		return "No step of this kind."
	}
	return "There are no steps."
}
