package engines

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

var claudeCode = Program{Name: "claude", Title: "Claude Code", Variables: []string{"ANTHROPIC_", "CLAUDE_"},
	usage: transcript.ClaudeCode, steps: func(t Task) transcript.StepReader { return transcript.ClaudeCodeSteps(t.Dir) }, start: startClaude}

func startClaude(task Task, tell func(Event)) (invocation, error) {
	// Values stand behind "=", so that none of them can be an option of its own.
	argv := []string{"-p", "--output-format=stream-json", "--verbose", "--dangerously-skip-permissions"}
	for _, option := range [][2]string{{"--model=", task.Model}, {"--resume=", task.Session}, {"--max-budget-usd=", task.MaxCostUSD}} {
		if option[1] != "" {
			argv = append(argv, option[0]+option[1])
		}
	}
	if len(task.MCP) > 0 {
		file, err := claudeTools(task)
		if err != nil {
			return invocation{}, err
		}
		argv = append(argv, "--mcp-config="+file)
	}
	var env []string
	if os.Geteuid() == 0 {
		env = append(env, "IS_SANDBOX=1") // it does not skip permissions for root elsewhere
	}
	return invocation{argv: argv, env: env, reads: &claudeLines{task: task, tell: tell}}, nil
}

// claudeTools writes the configuration of the server of tools. Its tools are always shown to
// the model, not only once it searches for them.
func claudeTools(task Task) (file string, err error) {
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{toolServer: map[string]any{
		"type": "stdio", "command": task.MCP[0], "args": task.MCP[1:], "alwaysLoad": true}}})
	if err != nil {
		return "", err
	}
	file = filepath.Join(task.Scratch, "mcp.json")
	return file, os.WriteFile(file, config, 0o600)
}

// claudeLines reads what Claude Code prints.
type claudeLines struct {
	task    Task
	tell    func(Event)
	session string
	end     *claudeLine
	limited time.Time     // when the provider's limit of a subscription ends
	wait    time.Duration // until the last try of a call
}

// claudeLine is a line, of whichever type.
type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	// Of api_retry.
	Attempt int             `json:"attempt"`
	Most    int             `json:"max_retries"`
	DelayMS float64         `json:"retry_delay_ms"`
	Status  int             `json:"error_status"`
	Error   json.RawMessage `json:"error"`
	// Of rate_limit_event.
	Limit struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"`
	} `json:"rate_limit_info"`
	// Of result.
	IsError   bool     `json:"is_error"`
	Result    string   `json:"result"`
	Errors    []string `json:"errors"`
	APIStatus int      `json:"api_error_status"`
}

// claudeBlock is a part of a message.
type claudeBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

func (c *claudeLines) line(line []byte) {
	var l claudeLine
	if json.Unmarshal(line, &l) != nil {
		return
	}
	switch {
	case l.Type == "system" && l.Subtype == "init" && l.Session != c.session:
		c.session = l.Session
		c.tell(Event{Session: l.Session})
	case l.Type == "system" && l.Subtype == "api_retry":
		c.wait = time.Duration(l.DelayMS) * time.Millisecond
		var kind string
		_ = json.Unmarshal(l.Error, &kind) // the status says enough where it is something else
		reason := strings.TrimSpace(fmt.Sprintf("%d %s", l.Status, strings.ReplaceAll(kind, "_", " ")))
		c.tell(step(fmt.Sprintf("%s%s, try %d of %d, next in %s", retries, reason, l.Attempt, l.Most, inSeconds(c.wait))))
	case l.Type == "rate_limit_event" && l.Limit.Status == "rejected" && l.Limit.ResetsAt > 0:
		c.limited = time.Unix(l.Limit.ResetsAt, 0)
	case l.Type == "assistant" || l.Type == "user":
		var blocks []claudeBlock
		_ = json.Unmarshal(l.Message.Content, &blocks) // what a person said is one text
		for _, b := range blocks {
			c.block(b)
		}
	case l.Type == "result":
		c.end = &l
	}
}

// inSeconds returns a duration in whole seconds, at least one.
func inSeconds(d time.Duration) string {
	return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second).Seconds())))
}

func (c *claudeLines) block(b claudeBlock) {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) != "" {
			c.tell(step(b.Text))
			c.tell(Event{Log: &LogLine{Level: "INFO", Event: logAgent, Message: cut(b.Text)}})
		}
	case "tool_use":
		if does := c.task.toolStep(b.Name, b.Input); does != "" {
			c.tell(step(does))
		}
		c.tell(Event{Log: &LogLine{Level: "INFO", Event: logTool, Message: cut(b.Name + " " + string(b.Input))}})
	case "tool_result":
		level := "DEBUG"
		if b.IsError {
			level = "WARNING"
		}
		if text := joinText(b.Content); text != "" {
			c.tell(Event{Log: &LogLine{Level: level, Event: logResult, Message: cut(text)}})
		}
	}
}

// joinText returns the text of a result: a string, or blocks of which some are texts.
func joinText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []claudeBlock
	_ = json.Unmarshal(content, &blocks) // what is neither has no text
	var all []string
	for _, b := range blocks {
		all = append(all, b.Text)
	}
	return strings.Join(all, "\n")
}

func (c *claudeLines) result() (Result, bool) {
	if c.end == nil {
		return Result{}, false
	}
	if !c.end.IsError {
		return Result{OK: true, Summary: c.end.Result}, true
	}
	message := cmp.Or(strings.Join(c.end.Errors, "\n"), c.end.Result, "Claude Code failed: "+c.end.Subtype)
	if c.end.Subtype == "error_max_budget_usd" {
		return failed("budget_exceeded", message, false), true
	}
	why, known := refusedBy(c.end.APIStatus, message)
	switch {
	case known && (why.kind == "billing" || c.end.APIStatus != 429):
		return failed(why.kind, message, why.retryable), true
	case c.end.APIStatus == 429:
		r := failed("rate_limited", message, true)
		r.Failure.RetryAfter = c.wait
		if until := time.Until(c.limited); until > 0 {
			r.Failure.RetryAfter = until
		}
		return r, true
	}
	// Who is not let in, or requests what there is not, is not helped by another try.
	retryable := c.end.APIStatus < 400 || c.end.APIStatus >= 500
	return failed("other", message, retryable), true
}
