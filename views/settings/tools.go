package settings

import (
	"encoding/json"
	"strings"

	"github.com/fleetboard/fleetboard/views/ui"
)

// Tools is how programs call tools over the Model Context Protocol.
type Tools struct {
	URL string // of the protocol
	// At is the last call by a token of the reader's, zero where there was none; Program is
	// what the program called itself, Token the name of the token.
	At             ui.When
	Program, Token string
}

// toolToken is the variable that the lines read a person's token from.
const toolToken = "FLEETBOARD_TOKEN"

// token returns the line that asks for a token and keeps it for the shell.
func (m Tools) token() []string {
	return []string{"printf 'Your token: '; read -rs " + toolToken + "; export " + toolToken + "; echo"}
}

// claude returns the line that adds the tools to Claude Code, and the one that tries them.
func (m Tools) claude() []string {
	return []string{"claude mcp add --transport http --scope user fleetboard " + ui.ShellWord(m.URL) +
		" --header 'Authorization: Bearer ${" + toolToken + "}'", "claude mcp get fleetboard"}
}

// codex returns the line that adds the tools to Codex.
func (m Tools) codex() []string {
	return []string{"codex mcp add fleetboard --url " + ui.ShellWord(m.URL) + " --bearer-token-env-var " + toolToken}
}

// cursor returns what Cursor has in ~/.cursor/mcp.json.
func (m Tools) cursor() string {
	text, _ := json.MarshalIndent(map[string]any{"mcpServers": map[string]any{"fleetboard": map[string]any{ // of texts
		"url": m.URL, "headers": map[string]any{"Authorization": "Bearer ${env:" + toolToken + "}"}}}}, "", "  ")
	return string(text)
}

// worker returns the line that gives Claude Code the tools of the agent that was registered.
func (m Tools) worker() []string {
	return []string{"claude mcp add --transport http --scope user fleetboard-worker " + ui.ShellWord(m.URL) +
		` --header "Authorization: Bearer $agent_token"`}
}

// by says who called last.
func (m Tools) by() string {
	var parts []string
	if m.Program != "" {
		parts = append(parts, "by "+m.Program)
	}
	return strings.Join(append(parts, "with the token “"+ui.Clean(m.Token)+"”"), " ")
}
