package engines

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// codex is OpenAI's. It knows no limit of money.
var codex = Program{Name: "codex", Title: "Codex", Variables: []string{"OPENAI_", "CODEX_"}, usage: transcript.Codex,
	steps: codexSteps, totalsOfThread: true, start: startCodex}

// codexSteps reads what Codex does. How it changes files it does not print.
func codexSteps(t Task) transcript.StepReader {
	changes := &diffs{dir: t.Dir, scratch: t.Scratch, env: t.Env, seen: map[string][]byte{}}
	return transcript.CodexSteps(t.Dir, changes.of)
}

func startCodex(task Task, tell func(Event)) (invocation, error) {
	argv := []string{"exec"}
	if task.Session != "" {
		argv = append(argv, "resume")
	}
	argv = append(argv, "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
	if task.Model != "" {
		argv = append(argv, "--model="+task.Model)
	}
	argv = append(argv, codexTools(task)...)
	argv = append(argv, "--")
	if task.Session != "" {
		argv = append(argv, task.Session)
	}
	return invocation{argv: append(argv, "-"), by: codexModel(task), reads: &codexLines{task: task, tell: tell}}, nil
}

// codexTools returns the options for the server of tools. Codex gives such servers few of its
// own variables, and waits only for those that are required.
func codexTools(task Task) []string {
	if len(task.MCP) == 0 {
		return nil
	}
	server := "-cmcp_servers." + toolServer
	return []string{server + ".command=" + list(task.MCP[0]), server + ".args=[" + list(task.MCP[1:]...) + "]",
		server + ".env_vars=[" + list(task.variables()...) + "]",
		server + ".required=true", server + ".startup_timeout_sec=" + strconv.Itoa(int(toolPatience.Seconds()))}
}

// list returns a list of strings as TOML has them, without its brackets. Those of JSON are.
func list(texts ...string) string {
	var all []string
	for _, t := range texts {
		text, err := json.Marshal(t)
		if err != nil {
			panic(err) // it is a string
		}
		all = append(all, string(text))
	}
	return strings.Join(all, ", ")
}

// setting is a string at the top of Codex's configuration.
var setting = regexp.MustCompile(`(?m)^(model|model_provider)\s*=\s*"([^"\n]+)"`)

// codexModel returns what a task is done with. Codex does not print it.
func codexModel(task Task) transcript.Run {
	settings := map[string]string{}
	home := cmp.Or(task.variable("CODEX_HOME"), filepath.Join(task.variable("HOME"), ".codex"))
	config, _ := os.ReadFile(filepath.Join(home, "config.toml")) // there need be none
	top, _, _ := strings.Cut(string(config), "\n[")
	for _, found := range setting.FindAllStringSubmatch(top, -1) {
		settings[found[1]] = found[2]
	}
	return transcript.Run{Provider: cmp.Or(settings["model_provider"], "openai"), Model: cmp.Or(task.Model, settings["model"], "default")}
}

// codexLines reads what Codex prints.
type codexLines struct {
	task    Task
	tell    func(Event)
	said    string
	done    bool
	failure string
	final   bool // another try would fail in the same way
}

// codexItem is something that Codex did.
type codexItem struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Message string `json:"message"`
	Command string `json:"command"`
	Output  string `json:"aggregated_output"`
	Status  int    `json:"exit_code"`
	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Query  string `json:"query"`
}

func (c *codexLines) line(line []byte) {
	var l struct {
		Type    string    `json:"type"`
		Thread  string    `json:"thread_id"`
		Message string    `json:"message"`
		Item    codexItem `json:"item"`
		Error   struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(line, &l) != nil {
		return
	}
	switch l.Type {
	case "thread.started":
		c.tell(Event{Session: l.Thread})
	case "error": // it tries again
		c.tell(step(retries + l.Message))
	case "item.started":
		if does := c.does(l.Item); does != "" {
			c.tell(step(does))
		}
	case "item.completed":
		c.completed(l.Item)
	case "turn.completed":
		c.done, c.failure = true, ""
	case "turn.failed":
		c.failure = cmp.Or(l.Error.Message, "Codex failed.")
		c.refused(l.Error.Message)
	}
}

// inShell is how Codex runs a command.
var inShell = regexp.MustCompile(`(?s)^\S*/(?:ba|z|da)?sh -l?c (.*)$`)

// does returns what an item is as a step.
func (c *codexLines) does(i codexItem) string {
	switch i.Type {
	case "command_execution":
		command := i.Command
		if found := inShell.FindStringSubmatch(command); found != nil {
			command = strings.Trim(found[1], `'"`)
		}
		return "Runs " + firstLine(command)
	case "file_change":
		var paths []string
		for _, change := range i.Changes {
			paths = append(paths, strings.TrimPrefix(change.Path, c.task.Dir+"/"))
		}
		return "Edits " + strings.Join(paths, ", ")
	case "mcp_tool_call":
		if i.Server == toolServer {
			return "" // it speaks for itself
		}
		return "Uses " + i.Tool + " of " + i.Server
	case "web_search":
		return "Searches the web for " + i.Query
	}
	return ""
}

func (c *codexLines) completed(i codexItem) {
	log := func(level, event, text string) {
		if text != "" {
			c.tell(Event{Log: &LogLine{Level: level, Event: event, Message: cut(text)}})
		}
	}
	switch i.Type {
	case "agent_message":
		c.said = i.Text
		if strings.TrimSpace(i.Text) != "" {
			c.tell(step(i.Text))
		}
		log("INFO", logAgent, i.Text)
	case "error": // a warning
		log("WARNING", logAgent, i.Message)
	case "command_execution":
		log("INFO", logTool, i.Command)
		if i.Status != 0 {
			log("WARNING", logResult, strings.TrimSpace(fmt.Sprintf("status %d\n%s", i.Status, i.Output)))
		} else {
			log("DEBUG", logResult, i.Output)
		}
	case "file_change":
		does := c.does(i)
		c.tell(step(does))
		log("INFO", logTool, does)
	case "mcp_tool_call":
		log("INFO", logTool, i.Tool+" of "+i.Server)
	}
}

// noUse is what a message says of a status that stays.
var noUse = regexp.MustCompile(`\b(401|403|404) [A-Z]`)

// refused reads why the model's API refused a call: some answers are passed on as they came.
func (c *codexLines) refused(message string) {
	var answer struct {
		Error struct {
			Message string `json:"message"`
			Type    string `json:"type"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(message), &answer) == nil && answer.Error.Message != "" {
		c.failure, c.final = answer.Error.Message, answer.Error.Type == "invalid_request_error"
		return
	}
	c.final = noUse.MatchString(message)
}

// rateLimited is what a message about too many calls says.
var rateLimited = regexp.MustCompile(`(?i)\b429\b|rate limit|usage limit`)

func (c *codexLines) result() (Result, bool) {
	why, known := refusedBy(0, c.failure)
	limited := rateLimited.MatchString(c.failure)
	switch {
	case known && (why.kind == "billing" || !limited):
		return failed(why.kind, c.failure, why.retryable), true
	case limited:
		return failed("rate_limited", c.failure, true), true
	case c.failure != "":
		return failed("other", c.failure, !c.final), true
	}
	return Result{OK: true, Summary: c.said}, c.done
}
