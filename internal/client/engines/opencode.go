package engines

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// openCode knows no limit of money. While the model's API fails, it says so in its own log
// only, which it prints to stderr here.
var openCode = Program{Name: "opencode", Title: "OpenCode", Variables: []string{"OPENCODE_"}, usage: transcript.OpenCode,
	steps: func(t Task) transcript.StepReader { return transcript.OpenCodeSteps(t.Dir) }, start: startOpenCode}

func startOpenCode(task Task, tell func(Event)) (invocation, error) {
	argv := []string{"run", "--format=json", "--auto", "--print-logs", "--log-level=ERROR"}
	if task.Model != "" {
		argv = append(argv, "--model="+task.Model)
	}
	if task.Session != "" {
		argv = append(argv, "--session="+task.Session)
	}
	config := map[string]any{"autoupdate": false, "share": "disabled"}
	if len(task.MCP) > 0 {
		config["mcp"] = map[string]any{toolServer: map[string]any{"type": "local", "command": task.MCP, "enabled": true}}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return invocation{}, err
	}
	provider, model, ok := strings.Cut(task.Model, "/")
	if !ok {
		provider, model = "opencode", cmp.Or(task.Model, "default")
	}
	return invocation{argv: argv, env: []string{"OPENCODE_CONFIG_CONTENT=" + string(text)}, complains: openCodeRetry,
		by: transcript.Run{Provider: provider, Model: model}, reads: &openCodeLines{task: task, tell: tell}}, nil
}

// apiError is a line of OpenCode's log about a call of the model that failed.
var apiError = regexp.MustCompile(`message="stream error".* error\.error="((?:[^"\\]|\\.)*)"`)

func openCodeRetry(line string) string {
	if found := apiError.FindStringSubmatch(line); found != nil {
		return retries + found[1]
	}
	return ""
}

// openCodeLines reads what OpenCode prints.
type openCodeLines struct {
	task    Task
	tell    func(Event)
	session string
	said    string
	done    bool // the last call of the model called no tool
	failure *openCodeError
}

type openCodeError struct {
	Name string `json:"name"`
	Data struct {
		Message   string            `json:"message"`
		Status    int               `json:"statusCode"`
		Retryable *bool             `json:"isRetryable"`
		Headers   map[string]string `json:"responseHeaders"`
	} `json:"data"`
}

func (o *openCodeLines) line(line []byte) {
	var l struct {
		Type    string         `json:"type"`
		Session string         `json:"sessionID"`
		Error   *openCodeError `json:"error"`
		Part    struct {
			Text   string `json:"text"`
			Reason string `json:"reason"`
			Tool   string `json:"tool"`
			State  struct {
				Status string          `json:"status"`
				Input  json.RawMessage `json:"input"`
				Output string          `json:"output"`
				Error  string          `json:"error"`
			} `json:"state"`
		} `json:"part"`
	}
	if json.Unmarshal(line, &l) != nil {
		return
	}
	if l.Session != "" && l.Session != o.session {
		o.session = l.Session
		o.tell(Event{Session: l.Session})
	}
	log := func(level, event, text string) {
		if text != "" {
			o.tell(Event{Log: &LogLine{Level: level, Event: event, Message: cut(text)}})
		}
	}
	switch l.Type {
	case "text":
		o.said = l.Part.Text
		if strings.TrimSpace(l.Part.Text) != "" {
			o.tell(step(l.Part.Text))
		}
		log("INFO", logAgent, l.Part.Text)
	case "tool_use": // it has ended
		if does := o.task.toolStep(l.Part.Tool, l.Part.State.Input); does != "" {
			o.tell(step(does))
		}
		log("INFO", logTool, l.Part.Tool+" "+string(l.Part.State.Input))
		log("DEBUG", logResult, l.Part.State.Output)
		log("WARNING", logResult, l.Part.State.Error)
	case "step_finish":
		o.done = l.Part.Reason != "tool-calls"
	case "error":
		o.failure = l.Error
	}
}

func (o *openCodeLines) result() (Result, bool) {
	f := o.failure
	if f == nil {
		return Result{OK: true, Summary: o.said}, o.done
	}
	message := cmp.Or(f.Data.Message, f.Name, "OpenCode failed.")
	why, known := refusedBy(f.Data.Status, message)
	if known && (why.kind == "billing" || f.Data.Status != 429) {
		return failed(why.kind, message, why.retryable), true
	}
	if f.Data.Status == 429 {
		r := failed("rate_limited", message, true)
		if wait, err := time.ParseDuration(f.Data.Headers["retry-after"] + "s"); err == nil {
			r.Failure.RetryAfter = wait
		}
		return r, true
	}
	return failed("other", message, f.Data.Retryable == nil || *f.Data.Retryable), true
}
