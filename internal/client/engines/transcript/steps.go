package transcript

import (
	"encoding/json"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"time"
)

// Step is something that an agent did, as the API takes it.
type Step struct {
	At     time.Time
	Kind   string // message, reasoning, tool, output, edit, plan, usage, person
	Title  string // one line of Text where it is empty
	Text   string
	Tool   string
	Path   string // from the directory that the program works in
	Tokens int64
	Cost   string // in dollars, "" where it is unknown
}

// The kinds of steps.
const (
	Message   = "message"
	Reasoning = "reasoning"
	Tool      = "tool"
	Output    = "output"
	Edit      = "edit"
	Plan      = "plan"
	UsageStep = "usage"
	Person    = "person"
)

// StepReader makes steps of the lines of a run. It is not for several goroutines.
type StepReader interface {
	// Line reads a line and returns what it says that was done. A line that it does not know has no steps.
	Line(line []byte, at time.Time) []Step
}

// relative returns a path from a directory; what is elsewhere stays as it is.
func relative(dir, path string) string {
	if dir == "" || !filepath.IsAbs(path) {
		return path
	}
	if rest, err := filepath.Rel(dir, path); err == nil && rest != ".." && !strings.HasPrefix(rest, "../") {
		return rest
	}
	return path
}

// arguments returns those of a tool as text: the one that says all, as a command does, else as JSON.
func arguments(input json.RawMessage) string {
	var named map[string]json.RawMessage
	if json.Unmarshal(input, &named) == nil {
		var command string
		if json.Unmarshal(named["command"], &command) == nil && command != "" {
			return command
		}
	}
	return string(input)
}

// Spending makes steps of usage: what has come since the last one.
type Spending struct {
	// Base says that the first number of each entry was used before the run.
	Base bool

	known map[string]Entry
}

// Step returns what entries that have grown add; ok is false where they add nothing.
func (s *Spending) Step(entries []Entry, at time.Time) (step Step, ok bool) {
	if s.known == nil {
		s.known = map[string]Entry{}
	}
	cost, priced := new(big.Rat), false
	step = Step{At: at, Kind: UsageStep}
	for _, e := range entries {
		before, told := s.known[e.ID]
		s.known[e.ID] = e
		if s.Base && !told {
			continue
		}
		step.Title = e.Model
		step.Tokens += tokens(e) - tokens(before)
		if now, ok := new(big.Rat).SetString(e.Cost); ok {
			if then, ok := new(big.Rat).SetString(before.Cost); ok {
				now.Sub(now, then)
			}
			cost.Add(cost, now)
			priced = true
		}
	}
	step.Tokens = max(step.Tokens, 0)
	if priced && cost.Sign() > 0 {
		step.Cost = cost.FloatString(9)
	}
	return step, step.Tokens > 0 || step.Cost != ""
}

func tokens(e Entry) int64 { return e.Input + e.CacheRead + e.CacheWrite + e.CacheWrite1h + e.Output }

// replaced returns the diff of an edit that puts one text in the place of another. Where in the file that is, it
// does not know.
func replaced(old, now string) string {
	var diff strings.Builder
	before, after := splitLines(old), splitLines(now)
	fmt.Fprintf(&diff, "@@ -%d +%d @@\n", len(before), len(after))
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	write := func(sign string, lines []string) {
		for _, line := range lines {
			diff.WriteString(sign + line + "\n")
		}
	}
	write(" ", before[:head])
	write("-", before[head:len(before)-tail])
	write("+", after[head:len(after)-tail])
	write(" ", before[len(before)-tail:])
	return diff.String()
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
