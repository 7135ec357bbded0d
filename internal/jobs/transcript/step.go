package transcript

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Kind says what a step is.
type Kind string

// The kinds of steps.
const (
	Message   Kind = "message"   // what the agent says
	Reasoning Kind = "reasoning" // what it thinks
	Tool      Kind = "tool"      // a tool that it uses, with what it gives it
	Output    Kind = "output"    // what came of a tool
	Edit      Kind = "edit"      // a change of a file, as a diff
	Plan      Kind = "plan"      // what it means to do
	Usage     Kind = "usage"     // tokens and money
	Person    Kind = "person"    // what a person said to it
)

// Kinds are all of them. Their places are bits of a chunk's row: new ones stand at the end.
var Kinds = []Kind{Message, Reasoning, Tool, Output, Edit, Plan, Usage, Person}

// Limits of a step and of a call.
const (
	MaxSteps     = 500 // of a call
	MaxTitle     = 300 // characters
	MaxText      = 32_000
	MaxTool      = 100
	MaxPath      = 512
	MaxTokens    = 1_000_000_000
	maxProblems  = 50
	stepOverhead = 100 // bytes that a step counts beside its texts
)

// What is kept, in bytes before they are compressed: of a minute and of an attempt, of all attempts of a job,
// and how many steps of an attempt.
const (
	MaxMinute       = 8 << 20
	MaxAttempt      = 32 << 20
	MaxJob          = 256 << 20
	MaxAttemptSteps = 50_000
)

// Retention is how long transcripts are kept.
const Retention = 30 * 24 * time.Hour

// Step is one thing that an agent did.
type Step struct {
	N      int64     `json:"n"`
	At     time.Time `json:"at"` // the agent's clock, where it gave one
	Kind   Kind      `json:"kind"`
	Title  string    `json:"title"`
	Text   string    `json:"text,omitempty"` // a diff, where the step is an edit
	Tool   string    `json:"tool,omitempty"`
	Path   string    `json:"path,omitempty"`
	Tokens int64     `json:"tokens,omitempty"`
	Cost   int64     `json:"cost,omitempty"` // billionths of a dollar
	Blob   string    `json:"blob,omitempty"` // the SHA-256 of a content, where it is longer
}

// Size returns what the step takes of the limits.
func (s Step) Size() int64 {
	return int64(stepOverhead + len(s.Title) + len(s.Text) + len(s.Tool) + len(s.Path) + len(s.Blob))
}

// bit is the place of the kind among those of a chunk.
func (k Kind) bit() int { return 1 << slices.Index(Kinds, k) }

// bits are the places of kinds, of all of them where none is named.
func bits(kinds []Kind) (all int) {
	if len(kinds) == 0 {
		kinds = Kinds
	}
	for _, k := range kinds {
		all |= k.bit()
	}
	return all
}

// Check refuses steps that cannot be kept; a field is named steps[3].title.
func Check(steps []Step) error {
	if len(steps) < 1 || len(steps) > MaxSteps {
		return fault.Invalid("steps", "It must have 1 to %d steps (it has %d).", MaxSteps, len(steps))
	}
	p := fault.Problems{}
	for i, s := range steps {
		at := fmt.Sprintf("steps[%d].", i)
		switch {
		case s.N < 1:
			p.Add(at+"n", "It must be 1 or more.")
		case i > 0 && s.N != steps[i-1].N+1:
			p.Add(at+"n", "It must be %d: one more than that of the step before.", steps[i-1].N+1)
		}
		if !slices.Contains(Kinds, s.Kind) {
			p.Add(at+"kind", "It must be one of message, reasoning, tool, output, edit, plan, usage, person.")
		}
		p.Line(at+"title", s.Title, MaxTitle)
		p.Text(at+"text", s.Text, MaxText)
		p.Line(at+"tool", s.Tool, MaxTool)
		p.Line(at+"path", s.Path, MaxPath)
		if s.Tokens < 0 || s.Tokens > MaxTokens {
			p.Add(at+"tokens", "It must be 0 to %d.", MaxTokens)
		}
		if s.At.UTC().Year() < 1 || s.At.UTC().Year() > 9999 {
			p.Add(at+"at", "Its year must be 1 to 9999.")
		}
		if len(p) >= maxProblems {
			break
		}
	}
	return p.Err()
}

// Topic is published when steps were written to the transcript of an attempt. With epoch 0 it is the beginning of
// those of all attempts.
func Topic(workspace, job ids.ID, epoch int64) string {
	if epoch == 0 {
		return fmt.Sprintf("steps:%s:%s:", workspace, job)
	}
	return fmt.Sprintf("steps:%s:%s:%d", workspace, job, epoch)
}
