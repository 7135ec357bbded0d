//go:build agents

package factory

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/engines/scripted"
)

// The real Codex and OpenCode do a job each, against the scripted model: they report
// progress and ask through fleet mcp, the same session goes on with the answer, and the
// usage on the board is what the script used.
func TestCodexAndOpenCodeDoJobs(t *testing.T) {
	for name, program := range map[string]struct{ config, text, model string }{
		"codex": {".codex/config.toml", `model = "gpt-5-codex"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "MODEL/v1"
wire_api = "responses"
`, "gpt-5-codex"},
		"opencode": {".config/opencode/opencode.json", `{"provider": {"local": {"npm": "@ai-sdk/openai-compatible",
			"options": {"baseURL": "MODEL/v1", "apiKey": "none"}, "models": {"scripted": {}}}}}`, "local/scripted"},
	} {
		t.Run(name, func(t *testing.T) {
			model := httptest.NewServer(scripted.Turns([]scripted.Step{
				{Text: "I say what I do.", Tool: "report_progress", Arguments: map[string]any{"step": "reads the greeting", "percent": 30},
					Usage: scripted.Usage{Input: 1000, Output: 40}},
				{Text: "I write.", Command: "echo hello > greeting.txt", Usage: scripted.Usage{Input: 100, Output: 30}},
				{Text: "I ask.", Tool: "ask_person", Arguments: map[string]any{"question": "In which language?"}, Usage: scripted.Usage{Input: 90, Output: 20}},
				{Text: "I asked.", Usage: scripted.Usage{Input: 80, Output: 10}},
			}, []scripted.Step{
				{Text: "I go on.", Command: "echo hallo >> greeting.txt", Usage: scripted.Usage{Input: 70, Output: 9}},
				{Text: "It greets in two languages.", Usage: scripted.Usage{Input: 60, Output: 8}},
			}))
			t.Cleanup(model.Close)
			s := newStage(t)
			file := filepath.Join(s.dir, program.config)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(program.text, "MODEL", model.URL)), 0o600); err != nil {
				t.Fatal(err)
			}
			bin, err := filepath.Abs("../../.tools/engines/node_modules/.bin")
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			s.worker("desk", "--engine", name, "--model", program.model)
			key := s.submitAs(apiclient.NewJob{Title: "Greet the world", Repo: new("ledger"), Capabilities: &apiclient.CapabilityList{"engine:" + name}})
			if j := s.untilStatus(key, apiclient.JobStatusBlocked); j.Question != "In which language?" {
				t.Fatalf("it asks %q", j.Question)
			}
			if _, err := s.person.AnswerJobWithResponse(t.Context(), key, apiclient.AnswerAction{Answer: "Also in German."}); err != nil {
				t.Fatal(err)
			}
			j := s.untilStatus(key, apiclient.JobStatusCompleted)
			if !strings.Contains(string(j.Result), "It greets in two languages.") || j.Attempts != 2 {
				t.Errorf("after %d attempts the result is %s", j.Attempts, j.Result)
			}
			branch := s.branch(key, 2)
			s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), branch) })
			if got := s.git(s.origin("ledger"), "show", branch+":greeting.txt"); got != "hello\nhallo" {
				t.Errorf("the file says %q", got)
			}
			if u := j.Usage; u == nil || u.InputTokens != 1400 || u.OutputTokens != 117 {
				t.Errorf("the usage is %+v", u)
			}
		})
	}
}
