package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// noDiffs knows of no change.
func noDiffs(string) string { return "" }

// readers make steps of recordings, in the directory that those were made in.
var readers = map[string]func() transcript.StepReader{
	"claude-code": func() transcript.StepReader { return transcript.ClaudeCodeSteps("/srv/repo") },
	"codex":       func() transcript.StepReader { return transcript.CodexSteps("/srv/repo", noDiffs) },
	"opencode":    func() transcript.StepReader { return transcript.OpenCodeSteps("/srv/repo") },
}

// stepsOf returns what the reader of a program makes of lines.
func stepsOf(program string, lines ...string) (steps []transcript.Step) {
	r := readers[program]()
	for _, l := range lines {
		steps = append(steps, r.Line([]byte(l), noon)...)
	}
	return steps
}

// used finds the uses of tools in a line, whatever else it says: the id of each and what it got.
func used(value any, found map[string]string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			used(one, found)
		}
	case map[string]any:
		input := func(of any) string {
			text, _ := json.Marshal(of)
			return strings.ReplaceAll(string(text), `\u003e`, ">")
		}
		switch {
		case v["type"] == "tool_use" && v["id"] != nil:
			found[v["id"].(string)] = input(v["input"])
		case v["type"] == "tool":
			found[v["callID"].(string)] = input(v["state"].(map[string]any)["input"])
		case v["type"] == "command_execution":
			found[v["id"].(string)] = v["command"].(string)
		}
		for _, one := range v {
			used(one, found)
		}
	}
}

// Every use of a tool that is recorded is a step, and each has its output.
func TestEveryToolOfARecordingIsAStep(t *testing.T) {
	t.Parallel()
	uses := 0
	for _, r := range []recording{claudeFirst, claudeResumed, claudeSubagent, codexFirst, codexResumed, openCodeFirst, openCodeResumed} {
		program := ""
		for name := range readers {
			if strings.HasPrefix(r.name, name) {
				program = name
			}
		}
		found := map[string]string{}
		var lines []string
		for _, l := range r.lines(t) {
			var value any
			if err := json.Unmarshal(l, &value); err != nil {
				t.Fatal(err)
			}
			used(value, found)
			lines = append(lines, string(l))
		}
		uses += len(found)
		tools, outputs, said := 0, 0, 0
		for _, s := range stepsOf(program, lines...) {
			switch s.Kind {
			case transcript.Tool, transcript.Edit, transcript.Plan:
				tools++
				known := false
				for _, input := range found {
					known = known || strings.Contains(input, strings.Trim(s.Text, "{}")) || strings.Contains(input, s.Text)
				}
				if !known || s.Text == "" || s.Tool == "" {
					t.Errorf("%s: %+v is no use of a tool", r.name, s)
				}
			case transcript.Output:
				outputs++
			case transcript.Message:
				said++
			}
		}
		if tools != len(found) || outputs != len(found) || said == 0 {
			t.Errorf("%s: %d tools and %d outputs in the transcript, %d in the recording; %d messages", r.name, tools, outputs, len(found), said)
		}
	}
	if uses < 10 {
		t.Errorf("the recordings use only %d tools", uses)
	}
}

func TestStepsOfPrograms(t *testing.T) {
	t.Parallel()
	block := func(text string) string { return `{"type":"assistant","message":{"content":[` + text + `]}}` }
	tool := func(name, input string) string {
		return block(`{"type":"tool_use","id":"t1","name":"` + name + `","input":` + input + `}`)
	}
	item := func(kind, text string) string { return `{"type":"item.` + kind + `","item":{"id":"i1",` + text + `}}` }
	open := func(name, state string) string {
		return `{"type":"tool_use","part":{"tool":"` + name + `","state":{` + state + `}}}`
	}
	step := func(kind, title, text, tool, path string) transcript.Step {
		return transcript.Step{Kind: kind, Title: title, Text: text, Tool: tool, Path: path}
	}
	for name, c := range map[string]struct {
		program string
		lines   []string
		want    []transcript.Step
	}{
		"Claude Code thinks and speaks": {"claude-code", []string{block(`{"type":"thinking","thinking":"Hm."},{"type":"text","text":"So."},{"type":"text","text":" "}`)},
			[]transcript.Step{step("reasoning", "", "Hm.", "", ""), step("message", "", "So.", "", "")}},
		"Claude Code is told something": {"claude-code", []string{`{"type":"user","message":{"content":"Go on."}}`},
			[]transcript.Step{step("person", "", "Go on.", "", "")}},
		"Claude Code edits": {"claude-code", []string{tool("Edit", `{"file_path":"/srv/repo/a/b.go","old_string":"one\ntwo\nthree\n","new_string":"one\n2\nthree\n"}`),
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image"}]}]}}`},
			[]transcript.Step{step("edit", "", "@@ -3 +3 @@\n one\n-two\n+2\n three\n", "Edit", "a/b.go"), step("output", "Failed", "no\n(image)", "Edit", "")}},
		"Claude Code writes elsewhere": {"claude-code", []string{tool("Write", `{"file_path":"/etc/x","content":"a"}`)},
			[]transcript.Step{step("edit", "", "@@ -0 +1 @@\n+a\n", "Write", "/etc/x")}},
		"Claude Code plans": {"claude-code", []string{tool("TodoWrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c"}]}`)},
			[]transcript.Step{step("plan", "b", "[x] a\n[>] b\n[ ] c\n", "TodoWrite", "")}},
		"Claude Code uses what nobody knows": {"claude-code", []string{tool("Edit", `{"file":3}`), tool("mcp__x__y", `{"a":1}`)},
			[]transcript.Step{step("tool", "", `{"file":3}`, "Edit", ""), step("tool", "", `{"a":1}`, "mcp__x__y", "")}},
		"Codex runs, also where only the end is there": {"codex", []string{item("completed", `"type":"command_execution","command":"/bin/bash -lc 'make x'","aggregated_output":"bad","exit_code":2`)},
			[]transcript.Step{step("tool", "", "make x", "shell", ""), step("output", "exit 2", "bad", "shell", "")}},
		"Codex edits, plans, thinks": {"codex", []string{item("completed", `"type":"file_change","changes":[{"path":"/srv/repo/x.go","kind":"update"},{"path":"y","kind":"add"}]`),
			item("completed", `"type":"todo_list","items":[{"text":"a","completed":true},{"text":"b"}]`), item("completed", `"type":"reasoning","text":"Hm."`)},
			[]transcript.Step{step("edit", "update x.go", "", "apply_patch", "x.go"), step("edit", "add y", "", "apply_patch", "y"),
				step("plan", "", "[x] a\n[ ] b\n", "", ""), step("reasoning", "", "Hm.", "", "")}},
		"Codex uses a server": {"codex", []string{item("started", `"type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1}`),
			item("completed", `"type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1},"result":{"b":2},"status":"failed"`)},
			[]transcript.Step{step("tool", "", `{"a":1}`, "s.t", ""), step("output", "Failed", `{"b":2}`, "s.t", "")}},
		"OpenCode edits": {"opencode", []string{open("edit", `"input":{"filePath":"/srv/repo/a","oldString":"x","newString":"y"},"output":"ok","metadata":{"diff":"@@ -1 +1 @@"}`),
			open("write", `"input":{"filePath":"b","content":"z"},"error":"denied"`)},
			[]transcript.Step{step("edit", "", "@@ -1 +1 @@", "edit", "a"), step("output", "", "ok", "edit", ""),
				step("edit", "", "@@ -0 +1 @@\n+z\n", "write", "b"), step("output", "Failed", "denied", "write", "")}},
		"nonsense":      {"claude-code", []string{"", "{", `{"type":"assistant","message":3}`, `{"type":"assistant","message":{"content":{}}}`, "\x00"}, nil},
		"more nonsense": {"codex", []string{`{"type":"item.completed","item":[]}`, `{"type":"item.completed"}`}, nil},
	} {
		if diff := cmp.Diff(c.want, stepsOf(c.program, c.lines...), cmpopts.IgnoreFields(transcript.Step{}, "At")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSpendingIsWhatCameSince(t *testing.T) {
	t.Parallel()
	entry := func(id string, input int64, cost string) transcript.Entry {
		return transcript.Entry{ID: id, Model: "m", Input: input, Cost: cost}
	}
	var s transcript.Spending
	for i, c := range []struct {
		entries []transcript.Entry
		tokens  int64
		cost    string
		ok      bool
	}{
		{[]transcript.Entry{entry("a", 10, "")}, 10, "", true},
		{[]transcript.Entry{entry("a", 10, "")}, 0, "", false},
		{[]transcript.Entry{entry("a", 15, "0.5"), entry("b", 1, "0.25")}, 6, "0.750000000", true},
		{[]transcript.Entry{entry("b", 1, "0.75")}, 0, "0.500000000", true},
		{nil, 0, "", false},
	} {
		if step, ok := s.Step(c.entries, noon); ok != c.ok || step.Tokens != c.tokens || step.Cost != c.cost {
			t.Errorf("%d: %+v, %t", i, step, ok)
		}
	}
	later := transcript.Spending{Base: true}
	if step, ok := later.Step([]transcript.Entry{entry("a", 1000, "")}, noon); ok {
		t.Errorf("what was used before: %+v", step)
	}
	if step, ok := later.Step([]transcript.Entry{entry("a", 1007, "")}, noon); !ok || step.Tokens != 7 {
		t.Errorf("what came since: %+v, %t", step, ok)
	}
}
