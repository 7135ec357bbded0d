package transcript

import (
	"encoding/json"
	"strings"
	"time"
)

// claudeSteps reads what Claude Code did.
type claudeSteps struct {
	dir   string
	tools map[string]string // names, by the id of a use
}

// ClaudeCodeSteps returns the reader for a run of Claude Code in a directory.
func ClaudeCodeSteps(dir string) StepReader {
	return &claudeSteps{dir: dir, tools: map[string]string{}}
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	UseID    string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
}

// Line reads a line.
func (c *claudeSteps) Line(line []byte, at time.Time) (steps []Step) {
	var l struct {
		Type    string `json:"type"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &l) != nil || l.Type != "assistant" && l.Type != "user" {
		return nil
	}
	var said string
	if json.Unmarshal(l.Message.Content, &said) == nil {
		return textStep(at, c.speaker(l.Type), said)
	}
	var blocks []claudeBlock
	_ = json.Unmarshal(l.Message.Content, &blocks) // what is no list has no blocks
	for _, b := range blocks {
		switch b.Type {
		case "text":
			steps = append(steps, textStep(at, c.speaker(l.Type), b.Text)...)
		case "thinking":
			steps = append(steps, textStep(at, Reasoning, b.Thinking)...)
		case "tool_use", "server_tool_use":
			c.tools[b.ID] = b.Name
			steps = append(steps, c.use(b, at)...)
		case "tool_result":
			title := ""
			if b.IsError {
				title = "Failed"
			}
			steps = append(steps, Step{At: at, Kind: Output, Title: title, Tool: c.tools[b.UseID], Text: contentText(b.Content)})
		}
	}
	return steps
}

// speaker returns whose words the texts of a message are. What comes as a user's beside results is what the program
// tells the model, such as a prompt.
func (c *claudeSteps) speaker(kind string) string {
	if kind == "user" {
		return Person
	}
	return Message
}

// textStep is a step of words, none where there are none.
func textStep(at time.Time, kind, text string) []Step {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []Step{{At: at, Kind: kind, Text: text}}
}

// contentText returns the text of a result: a string, or blocks of which some are texts.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []claudeBlock
	_ = json.Unmarshal(content, &blocks) // what is neither has no text
	var all []string
	for _, b := range blocks {
		if b.Type == "text" {
			all = append(all, b.Text)
		} else {
			all = append(all, "("+b.Type+")")
		}
	}
	return strings.Join(all, "\n")
}

// fileInput is what tools that change files get.
type fileInput struct {
	Path     string `json:"file_path"`
	Notebook string `json:"notebook_path"`
	Camel    string `json:"filePath"` // OpenCode's
	Content  string `json:"content"`
	Source   string `json:"new_source"`
	Old      string `json:"old_string"`
	New      string `json:"new_string"`
	OldCamel string `json:"oldString"`
	NewCamel string `json:"newString"`
	Edits    []struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
	} `json:"edits"`
}

// path returns the file.
func (f fileInput) path(dir string) string {
	for _, p := range []string{f.Path, f.Camel, f.Notebook} {
		if p != "" {
			return relative(dir, p)
		}
	}
	return ""
}

// diff returns the change.
func (f fileInput) diff() string {
	switch {
	case len(f.Edits) > 0:
		all := ""
		for _, e := range f.Edits {
			all += replaced(e.Old, e.New)
		}
		return all
	case f.Content != "" || f.Source != "":
		return replaced("", f.Content+f.Source)
	}
	return replaced(f.Old+f.OldCamel, f.New+f.NewCamel)
}

// use is the step of a use of a tool.
func (c *claudeSteps) use(b claudeBlock, at time.Time) []Step {
	switch b.Name {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		var in fileInput
		if json.Unmarshal(b.Input, &in) == nil && in.path(c.dir) != "" {
			return []Step{{At: at, Kind: Edit, Tool: b.Name, Path: in.path(c.dir), Text: in.diff()}}
		}
	case "TodoWrite", "TaskCreate", "TaskUpdate", "ExitPlanMode":
		return []Step{{At: at, Kind: Plan, Tool: b.Name, Title: planTitle(b.Input), Text: planText(b.Input)}}
	}
	return []Step{{At: at, Kind: Tool, Tool: b.Name, Text: arguments(b.Input)}}
}

// planInput is what tools for plans get.
type planInput struct {
	Plan    string `json:"plan"`
	Subject string `json:"subject"`
	Tasks   []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
}

// planText returns a plan as a list, else what the tool got.
func planText(input json.RawMessage) string {
	var in planInput
	_ = json.Unmarshal(input, &in) // what has another form is shown as it is
	switch {
	case in.Plan != "":
		return in.Plan
	case len(in.Tasks) == 0:
		return string(input)
	}
	var list strings.Builder
	for _, task := range in.Tasks {
		mark := map[string]string{"completed": "[x]", "in_progress": "[>]"}[task.Status]
		if mark == "" {
			mark = "[ ]"
		}
		list.WriteString(mark + " " + task.Content + "\n")
	}
	return list.String()
}

func planTitle(input json.RawMessage) string {
	var in planInput
	_ = json.Unmarshal(input, &in)
	for _, task := range in.Tasks {
		if task.Status == "in_progress" {
			return task.Content
		}
	}
	return in.Subject
}
