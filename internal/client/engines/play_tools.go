package engines

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ScriptTool is a call of one of the task's tools. In texts of its arguments {filed} is the
// job that was filed last, {from} and {thread} are those of the last message of an await. File
// names a file in the task's directory for temporary files that has the arguments instead. A call
// with Refused must be refused in words that hold it.
type ScriptTool struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments,omitempty"`
	File      string         `json:"file,omitempty"`
	Refused   string         `json:"refused,omitempty"`
}

// scene is what a script came to know from tools.
type scene struct{ filed, from, thread string }

// awaitSeconds is how long one call waits for messages.
const awaitSeconds = 30

// call calls a tool as a step wants it.
func (s *scene) call(ctx context.Context, task Task, t ScriptTool) error {
	filled := strings.NewReplacer("{filed}", s.filed, "{from}", s.from, "{thread}", s.thread)
	arguments := map[string]any{}
	for name, value := range t.Arguments {
		if text, ok := value.(string); ok {
			value = filled.Replace(text)
		}
		arguments[name] = value
	}
	if t.File != "" {
		raw, err := os.ReadFile(filepath.Join(task.Scratch, t.File))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &arguments); err != nil {
			return err
		}
	}
	said, err := callTool(ctx, task, t.Name, arguments)
	if t.Refused != "" {
		if err == nil || !strings.Contains(err.Error(), t.Refused) {
			return fmt.Errorf("%s should be refused with %q: %w", t.Name, t.Refused, cmp.Or(err, errors.New("it said "+said)))
		}
		return nil
	}
	if rest, ok := strings.CutPrefix(said, "Filed as "); ok {
		s.filed, _, _ = strings.Cut(rest, ".")
	}
	return err
}

// await reads messages until one of a type comes, and logs all of them.
func (s *scene) await(ctx context.Context, task Task, kind string, tell func(Event)) error {
	for {
		said, err := callTool(ctx, task, "read_messages", map[string]any{"wait_seconds": awaitSeconds})
		if err != nil {
			return err
		}
		var list []struct{ From, Type, Thread string }
		if err := json.Unmarshal([]byte(said), &list); err != nil {
			return fmt.Errorf("read_messages said %q: %w", said, err)
		}
		if len(list) > 0 {
			tell(Event{Log: &LogLine{Level: "INFO", Event: "messages", Message: cut(said)}})
		}
		for _, m := range list {
			if m.Type == kind {
				s.from, s.thread = m.From, m.Thread
				return nil
			}
		}
	}
}

// callTool calls a tool of the task's server, as an agent program does, and returns what it
// says.
func callTool(ctx context.Context, task Task, name string, arguments map[string]any) (said string, err error) {
	if len(task.MCP) == 0 {
		return "", errors.New("there are no tools")
	}
	cmd := exec.CommandContext(ctx, task.MCP[0], task.MCP[1:]...)
	cmd.Dir, cmd.Env = task.Dir, task.Env
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	said, err = converse(in, out, name, arguments)
	return said, errors.Join(err, in.Close(), cmd.Wait())
}

// converse speaks the Model Context Protocol for one call of a tool.
func converse(in io.Writer, out io.Reader, name string, arguments map[string]any) (said string, err error) {
	lines := bufio.NewReader(out)
	_, err = ask(in, lines, 1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "scripted", "version": "1"}})
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(in).Encode(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
		return "", err
	}
	raw, err := ask(in, lines, 2, "tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var answer struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Content) == 0 {
		return "", fmt.Errorf("%s answered %s", name, raw)
	}
	if answer.IsError {
		return "", fmt.Errorf("%s was refused: %s", name, answer.Content[0].Text)
	}
	return answer.Content[0].Text, nil
}

// ask sends a request and reads until its answer.
func ask(in io.Writer, lines *bufio.Reader, id int, method string, params any) (result json.RawMessage, err error) {
	if err := json.NewEncoder(in).Encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the server of tools ended: %w", err)
		}
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(line, &answer) != nil || answer.ID == nil || *answer.ID != id {
			continue // a notification
		}
		if answer.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, answer.Error)
		}
		return answer.Result, nil
	}
}
