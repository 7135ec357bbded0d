//go:build agents

package factory

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/scripted"
)

// program is a real agent program: a file of its settings below the home, with MODEL for the
// model's address, variables of its environment, and the name of its model.
type program struct {
	config, text string
	env          []string
	model        string
}

// programs are those that a job is done by here.
var programs = map[string]program{
	"codex": {config: ".codex/config.toml", text: `model = "gpt-5-codex"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "MODEL/v1"
wire_api = "responses"
`, model: "gpt-5-codex"},
	"opencode": {config: ".config/opencode/opencode.json", text: `{"provider": {"local": {"npm": "@ai-sdk/openai-compatible",
			"options": {"baseURL": "MODEL/v1", "apiKey": "none"}, "models": {"scripted": {}}}}}`, model: "local/scripted"},
	"claude": {env: []string{"ANTHROPIC_BASE_URL=MODEL", "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1"}, model: "claude-sonnet-4-5"},
}

// desk starts a worker whose only engine is a program that talks to a model.
func (s *serverAndRepos) desk(name string, model http.Handler) {
	s.t.Helper()
	s.workerOf("desk", name, model)
}

// workerOf starts one of a name.
func (s *serverAndRepos) workerOf(worker, name string, model http.Handler) {
	s.t.Helper()
	server := httptest.NewServer(model)
	s.t.Cleanup(server.Close)
	p := programs[name]
	if p.config != "" {
		file := filepath.Join(s.dir, p.config)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(p.text, "MODEL", server.URL)), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, v := range p.env {
		s.env = append(s.env, strings.ReplaceAll(v, "MODEL", server.URL))
	}
	bin, err := filepath.Abs("../../.tools/engines/node_modules/.bin")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s.worker(worker, "--engine", name, "--model", p.model)
}

// The real Codex, OpenCode and Claude Code make a branch of their own, commit there and end.
// What is handed in is exactly what they left, and the origin has it byte by byte.
func TestCodexOpenCodeAndClaudeMakeBranches(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		t.Run(name, func(t *testing.T) {
			s := newServerAndRepos(t)
			odd := "one\r\n\xe9\x00two\xff"
			script := filepath.Join(s.dir, "leave.sh")
			text := `set -e
git checkout -q -b feature/x
printf 'one\r\n\351\000two\377' > 'odd name.bin'
printf '#!/bin/sh\n' > run.sh; chmod +x run.sh
ln -s README.md latest
git add -A
git commit -q -m 'A branch of my own'
git rev-parse HEAD > ` + filepath.Join(s.dir, "left")
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s.desk(name, scripted.New([]scripted.Step{
				{Text: "I work on a branch of my own.", Command: "sh " + script, Usage: scripted.Usage{Input: 100, Output: 30}},
				{Text: "It is on feature/x.", Usage: scripted.Usage{Input: 60, Output: 8}},
			}))
			key := s.submitAs(api.NewJob{Title: "Branch", Repo: new("ledger"), Capabilities: &api.CapabilityList{"engine:" + name}})
			j := s.untilStatus(key, api.JobStatusCompleted)
			var result struct{ Branch, Commit string }
			if err := json.Unmarshal(j.Result, &result); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadFile(filepath.Join(s.dir, "left"))
			if err != nil || strings.TrimSpace(string(left)) != result.Commit || result.Branch != s.branch(key, 1) {
				t.Fatalf("the agent left %s, %v; handed in is %s as %s", left, err, result.Commit, result.Branch)
			}
			origin := s.origin("ledger")
			s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(origin), result.Branch) })
			if at := s.git(origin, "rev-parse", result.Branch); at != result.Commit {
				t.Errorf("the origin has %s as %s", result.Branch, at)
			}
			want := filepath.Join(s.dir, "want")
			if err := os.WriteFile(want, []byte(odd), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := s.git(origin, "rev-parse", result.Commit+":odd name.bin"); got != s.git(origin, "hash-object", want) {
				t.Errorf("the origin has other bytes in the file: %q", s.git(origin, "show", result.Commit+":odd name.bin"))
			}
			list := s.git(origin, "ls-tree", "-r", "--format=%(objectmode) %(path)", result.Commit)
			if list != "100644 README.md\n120000 latest\n100644 odd name.bin\n100755 run.sh" {
				t.Errorf("the origin has\n%s", list)
			}
			if all := s.branches(origin); slices.Contains(all, "feature/x") {
				t.Errorf("the agent's own name for the branch is at the origin: %q", all)
			}
			if said := s.git(origin, "log", "-1", "--format=%s", result.Commit); said != "A branch of my own" {
				t.Errorf("the commit says %q", said)
			}
		})
	}
}

// The real Codex and OpenCode do a job each, against the scripted model: they report
// progress and ask through fleet mcp, the same session goes on with the answer, and the
// usage on the board is what the script used.
func TestCodexAndOpenCodeDoJobs(t *testing.T) {
	for _, name := range []string{"codex", "opencode"} {
		t.Run(name, func(t *testing.T) {
			s := newServerAndRepos(t)
			s.desk(name, scripted.Turns([]scripted.Step{
				{Text: "I say what I do.", Tool: "report_progress", Arguments: map[string]any{"step": "reads the greeting", "percent": 30},
					Usage: scripted.Usage{Input: 1000, Output: 40}},
				{Text: "I write.", Command: "echo hello > greeting.txt", Usage: scripted.Usage{Input: 100, Output: 30}},
				{Text: "I ask.", Tool: "ask_person", Arguments: map[string]any{"question": "In which language?"}, Usage: scripted.Usage{Input: 90, Output: 20}},
				{Text: "I asked.", Usage: scripted.Usage{Input: 80, Output: 10}},
			}, []scripted.Step{
				{Text: "I go on.", Command: "echo hallo >> greeting.txt", Usage: scripted.Usage{Input: 70, Output: 9}},
				{Text: "It greets in two languages.", Usage: scripted.Usage{Input: 60, Output: 8}},
			}))
			key := s.submitAs(api.NewJob{Title: "Greet the world", Repo: new("ledger"), Capabilities: &api.CapabilityList{"engine:" + name}})
			if j := s.untilStatus(key, api.JobStatusBlocked); j.Question != "In which language?" {
				t.Fatalf("it asks %q", j.Question)
			}
			if _, err := s.person.AnswerJobWithResponse(t.Context(), key, api.AnswerAction{Answer: "Also in German."}); err != nil {
				t.Fatal(err)
			}
			j := s.untilStatus(key, api.JobStatusCompleted)
			if !strings.Contains(string(j.Result), "It greets in two languages.") || j.Attempts != 2 {
				t.Errorf("after %d attempts the result is %s", j.Attempts, j.Result)
			}
			branch := s.branch(key, 2)
			s.until("the branch is pushed", func() bool { return slices.Contains(s.branches(s.origin("ledger")), branch) })
			if got := s.git(s.origin("ledger"), "show", branch+":greeting.txt"); got != "hello\nhallo" {
				t.Errorf("the file says %q", got)
			}
			// What was used last may be reported after the report.
			s.until("all that was used is told", func() bool {
				u := s.job(key).Usage
				return u != nil && u.InputTokens == 1400 && u.OutputTokens == 117
			})
		})
	}
}

// The real Codex, OpenCode and Claude Code verify what another worker handed in. They end their turn without
// a verdict, are reminded in the same session, give one in the wrong form and then one in the right form.
func TestCodexOpenCodeAndClaudeVerify(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		t.Run(name, func(t *testing.T) {
			s := newServerAndRepos(t)
			s.verified("sh -n sum.sh", 0, "engine:"+name)
			s.author()
			key, verify := s.handInWork("Add", write("sum.sh", "echo 5"), step{})
			answer := func(met string) map[string]any {
				return map[string]any{"verdict": "changes", "criteria": []any{map[string]any{"text": sums, "met": met, "evidence": "It prints 5."}},
					"findings": []any{map[string]any{"path": "sum.sh", "line": 1, "severity": "blocker", "text": "It prints 5 always."}}}
			}
			s.workerOf("glass", name, scripted.Turns([]scripted.Step{
				{Text: "I try it.", Command: "sh sum.sh 1 1; git status --short", Usage: scripted.Usage{Input: 1000, Output: 40}},
				{Text: "It prints 5.", Usage: scripted.Usage{Input: 100, Output: 30}},
			}, []scripted.Step{
				{Text: "I say so.", Tool: "give_verdict", Arguments: answer("never"), Usage: scripted.Usage{Input: 90, Output: 20}},
				{Text: "I say so again.", Tool: "give_verdict", Arguments: answer("no"), Usage: scripted.Usage{Input: 80, Output: 10}},
				{Text: "It does not add.", Usage: scripted.Usage{Input: 70, Output: 9}},
			}))
			v := s.untilStatus(verify, api.JobStatusCompleted)
			if j := s.job(key); j.Verdict != "changes" || v.Attempts != 1 || !strings.Contains(string(v.Result), "It prints 5 always.") ||
				!strings.Contains(string(v.Result), "It does not add.") {
				t.Errorf("the verdict is %q after %d attempts, with %s", j.Verdict, v.Attempts, v.Result)
			}
			logs, err := s.person.ListJobLogsWithResponse(t.Context(), verify, nil)
			if err != nil || !strings.Contains(string(logs.Body), "criteria[0].met: It must be yes, no or unknown.") {
				t.Errorf("the log is %s, %v", logs.Body, err)
			}
			s.until("all that was used is told", func() bool {
				u := s.job(verify).Usage
				return u != nil && u.InputTokens >= 1340 && u.OutputTokens >= 109 // Claude Code asks for a title, too
			})
		})
	}
}
