package engines

import (
	"encoding/json"
	"strings"
)

// tools say what an agent does with a tool, by its name in small letters, and which of its
// arguments says with what.
var tools = map[string]struct{ does, argument string }{
	"bash": {"Runs", "command"}, "read": {"Reads", "path"}, "write": {"Writes", "path"},
	"edit": {"Edits", "path"}, "multiedit": {"Edits", "path"}, "notebookedit": {"Edits", "path"},
	"apply_patch": {"Edits files", ""}, "patch": {"Edits files", ""},
	"grep": {"Searches for", "pattern"}, "glob": {"Looks for", "pattern"}, "list": {"Lists", "path"},
	"webfetch": {"Fetches", "url"}, "websearch": {"Searches the web for", "query"}, "task": {"Starts a subagent:", "description"},
	"agent": {"Starts a subagent:", "description"}, "skill": {"Uses the skill", "skill"},
}

// toolStep returns the step that the use of a tool is; "" where it speaks for itself, as those
// of Task.MCP do.
func (t Task) toolStep(name string, input json.RawMessage) string {
	if strings.HasPrefix(name, "mcp__"+toolServer+"__") || strings.HasPrefix(name, toolServer+"_") {
		return ""
	}
	known, ok := tools[strings.ToLower(name)]
	if !ok {
		return "Uses " + name
	}
	var arguments map[string]any
	_ = json.Unmarshal(input, &arguments) // what is no object has no arguments
	names := []string{known.argument}
	if known.argument == "path" {
		names = []string{"file_path", "filePath", "notebook_path", "path"}
	}
	for _, n := range names {
		if value, ok := arguments[n].(string); ok && value != "" {
			return known.does + " " + strings.TrimPrefix(firstLine(value), t.Dir+"/")
		}
	}
	return known.does
}
