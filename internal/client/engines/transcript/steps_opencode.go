package transcript

import (
	"encoding/json"
	"time"
)

// openCodeSteps reads what OpenCode did.
type openCodeSteps struct{ dir string }

// OpenCodeSteps returns the reader for a run of OpenCode in a directory.
func OpenCodeSteps(dir string) StepReader { return openCodeSteps{dir} }

// Line reads a line. A tool is printed once it has ended.
func (o openCodeSteps) Line(line []byte, at time.Time) []Step {
	var l struct {
		Type string `json:"type"`
		Part struct {
			Text  string `json:"text"`
			Tool  string `json:"tool"`
			State struct {
				Input    json.RawMessage `json:"input"`
				Output   string          `json:"output"`
				Error    string          `json:"error"`
				Metadata struct {
					Diff string `json:"diff"`
				} `json:"metadata"`
			} `json:"state"`
		} `json:"part"`
	}
	if json.Unmarshal(line, &l) != nil {
		return nil
	}
	p := l.Part
	switch l.Type {
	case "text":
		return textStep(at, Message, p.Text)
	case "reasoning":
		return textStep(at, Reasoning, p.Text)
	case "tool_use":
		use := Step{At: at, Kind: Tool, Tool: p.Tool, Text: arguments(p.State.Input)}
		switch p.Tool {
		case "edit", "write", "multiedit", "patch":
			var in fileInput
			if json.Unmarshal(p.State.Input, &in) == nil && in.path(o.dir) != "" {
				use = Step{At: at, Kind: Edit, Tool: p.Tool, Path: in.path(o.dir), Text: p.State.Metadata.Diff}
				if use.Text == "" {
					use.Text = in.diff()
				}
			}
		case "todowrite":
			use.Kind, use.Title, use.Text = Plan, planTitle(p.State.Input), planText(p.State.Input)
		}
		end := Step{At: at, Kind: Output, Tool: p.Tool, Text: p.State.Output}
		if p.State.Error != "" {
			end.Title, end.Text = "Failed", p.State.Error
		}
		return []Step{use, end}
	}
	return nil
}
