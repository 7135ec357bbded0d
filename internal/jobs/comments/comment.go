package comments

import (
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/patches"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of comments.
const (
	MaxText     = 2000       // characters
	MaxPath     = 512        // characters
	MaxLine     = 10_000_000 // number of a line
	MaxOfJob    = 500        // comments and replies about a job
	MaxOpen     = 100        // threads of a job that are not resolved
	MaxLineText = 400        // characters that are kept of the line itself
)

// Comment is what somebody said about a line, or in reply.
type Comment struct {
	ID         ids.ID
	Job        ids.ID
	Thread     ids.ID // the id of the first of its thread, its own where it is that
	Epoch      int64  // of the attempt that handed the commit in, or that answers
	Commit     string
	Place      patches.Place // in the commit
	LineText   string        // what stands there, "" where nobody knows
	Text       string
	Author     tenancy.Actor
	At         time.Time
	EditedAt   *time.Time
	ResolvedAt *time.Time
	ResolvedBy tenancy.Actor
	// Position is where the line stands in what was handed in last; nil where it is gone.
	Position *Position
}

// Position is where a line stands in a commit.
type Position struct {
	Commit string
	Place  patches.Place
}

// IsFirst reports whether the comment begins its thread.
func (c Comment) IsFirst() bool { return c.Thread == c.ID }

// IsOpen reports whether the comment begins a thread that nobody has resolved.
func (c Comment) IsOpen() bool { return c.IsFirst() && c.ResolvedAt == nil }

// New is a comment to be made. A reply has the id of a comment of its thread and needs no place.
type New struct {
	Commit    string
	Place     patches.Place
	Text      string
	InReplyTo ids.ID // Nil for a comment of its own
}

func (n New) check() error {
	p := fault.Problems{}
	checkText(p, "text", n.Text)
	if n.InReplyTo != ids.Nil {
		return p.Err()
	}
	p.Line("commit", n.Commit, jobs.MaxCommit)
	if n.Commit == "" {
		p.Add("commit", "It must be a commit that was handed in.")
	}
	p.Text("path", n.Place.Path, MaxPath)
	if n.Place.Path == "" {
		p.Add("path", "It must be a file that the commit changes.")
	}
	if n.Place.Side != patches.Old && n.Place.Side != patches.New {
		p.Add("side", "It must be old or new.")
	}
	p.Number("line", n.Place.Line, 0, MaxLine)
	return p.Err()
}

func checkText(p fault.Problems, field, text string) {
	if p.Text(field, text, MaxText); strings.TrimSpace(text) == "" {
		p.Add(field, "It must say something.")
	}
}

// Edit is a change of a comment; nil leaves a part as it is.
type Edit struct {
	Text     *string
	Resolved *bool
}

// Answer is what an agent says to a comment, which resolves it.
type Answer struct {
	ID   string `json:"id"`
	Note string `json:"note"`
}

// CheckAnswers adds what is wrong with answers to the problems of comments.
func CheckAnswers(p fault.Problems, answers []Answer) {
	if len(answers) > MaxOpen {
		p.Add("comments", "It must have at most %d entries.", MaxOpen)
		return
	}
	for i, a := range answers {
		checkText(p, field(i, "note"), a.Note)
		if _, ok := ids.Parse(a.ID); !ok {
			p.Add(field(i, "id"), "It must be the id of a comment.")
		}
		for _, before := range answers[:i] {
			if before.ID == a.ID {
				p.Add(field(i, "id"), "It is answered twice.")
			}
		}
	}
}
