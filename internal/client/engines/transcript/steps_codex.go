package transcript

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// codexSteps reads what Codex did.
type codexSteps struct {
	dir   string
	begun map[string]bool // items whose beginning was read
	diffs func(path string) string
}

// CodexSteps returns the reader for a run of Codex in a directory. Codex prints which files it changes and not how:
// diffs returns what has changed in one since it was asked last, "" where it does not know.
func CodexSteps(dir string, diffs func(path string) string) StepReader {
	return &codexSteps{dir: dir, begun: map[string]bool{}, diffs: diffs}
}

type codexItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Message   string          `json:"message"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregated_output"`
	ExitCode  *int            `json:"exit_code"`
	Status    string          `json:"status"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Query     string          `json:"query"`
	Changes   []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Items []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
}

// Line reads a line.
func (c *codexSteps) Line(line []byte, at time.Time) []Step {
	var l struct {
		Type string    `json:"type"`
		Item codexItem `json:"item"`
	}
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	switch l.Type {
	case "item.started":
		c.begun[l.Item.ID] = true
		return c.begin(l.Item, at)
	case "item.completed":
		var steps []Step
		if !c.begun[l.Item.ID] {
			steps = c.begin(l.Item, at)
		}
		return append(steps, c.end(l.Item, at)...)
	}
	return nil
}

// shell is how Codex runs a command.
var shell = regexp.MustCompile(`(?s)^\S*/(?:ba|z|da)?sh -l?c (.*)$`)

// begin returns what an item is going to do.
func (c *codexSteps) begin(i codexItem, at time.Time) []Step {
	switch i.Type {
	case "command_execution":
		command := i.Command
		if found := shell.FindStringSubmatch(command); found != nil {
			command = strings.Trim(found[1], `'"`)
		}
		return []Step{{At: at, Kind: Tool, Tool: "shell", Text: command}}
	case "mcp_tool_call":
		return []Step{{At: at, Kind: Tool, Tool: i.Server + "." + i.Tool, Text: string(i.Arguments)}}
	case "web_search":
		return []Step{{At: at, Kind: Tool, Tool: "web_search", Text: i.Query}}
	}
	return nil
}

// end returns what an item has done.
func (c *codexSteps) end(i codexItem, at time.Time) (steps []Step) {
	switch i.Type {
	case "agent_message":
		return textStep(at, Message, i.Text)
	case "reasoning":
		return textStep(at, Reasoning, i.Text)
	case "error":
		return textStep(at, Message, i.Message)
	case "command_execution":
		title := ""
		if i.ExitCode != nil && *i.ExitCode != 0 {
			title = fmt.Sprintf("exit %d", *i.ExitCode)
		}
		return []Step{{At: at, Kind: Output, Tool: "shell", Title: title, Text: i.Output}}
	case "mcp_tool_call":
		title := ""
		if i.Status == "failed" {
			title = "Failed"
		}
		return []Step{{At: at, Kind: Output, Tool: i.Server + "." + i.Tool, Title: title, Text: string(i.Result)}}
	case "file_change":
		for _, change := range i.Changes {
			step := Step{At: at, Kind: Edit, Tool: "apply_patch", Path: relative(c.dir, change.Path), Text: c.diffs(change.Path)}
			if step.Title = change.Kind + " " + step.Path; i.Status == "failed" {
				step.Title += " (failed)"
			}
			steps = append(steps, step)
		}
		return steps
	case "todo_list":
		var list strings.Builder
		for _, item := range i.Items {
			list.WriteString(map[bool]string{true: "[x] ", false: "[ ] "}[item.Completed] + item.Text + "\n")
		}
		return []Step{{At: at, Kind: Plan, Text: list.String()}}
	}
	return nil
}
