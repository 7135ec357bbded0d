package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines/process"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

const (
	// maxJSON bounds a line of JSON, which may hold a whole file.
	maxJSON = 8 << 20
	// maxText bounds how much of a text is reported, and maxStep a step, in bytes and characters.
	maxText = process.MaxLine
	maxStep = 200
	// retries is how a step begins that reports them.
	retries = "The model's API fails: "
)

// The events of log lines.
const (
	logAgent  = "agent"  // what the agent says
	logTool   = "tool"   // what it has done
	logResult = "result" // what came of it
)

// toolServer is the name that programs know Task.MCP by.
const toolServer = "fleetboard"

// toolPatience is how long that server may take to start, on a host that is busy.
const toolPatience = time.Minute

// vendor is the engine of a Program.
type vendor struct {
	Program
	path string
}

// Name is the program's.
func (v vendor) Name() string { return v.Program.Name }

// Probe runs the program for its version.
func (v vendor) Probe(ctx context.Context) (string, error) {
	if _, err := exec.LookPath(v.path); err != nil {
		return "", fmt.Errorf("%s is not installed here: %w", v.Title, err)
	}
	out, err := exec.CommandContext(ctx, v.path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s does not run here: %w", v.Title, err)
	}
	return firstLine(string(out)), nil
}

// invocation is how a program that prints lines of JSON is run on a task.
type invocation struct {
	argv  []string       // behind the program itself
	env   []string       // beside the task's
	by    transcript.Run // which provider and model it uses, where it prints neither
	reads reader
	// complains is the step that a line of stderr is, or ""; nil where there are no such lines.
	complains func(line string) string
}

// reader reads what a program prints.
type reader interface {
	// line takes a line of stdout, which is JSON.
	line(line []byte)
	// result is how the program says that it went; ok is false where it has not.
	result() (r Result, ok bool)
}

// Run runs the program until it has answered the prompt, which it gets on stdin: an argument
// can be taken for an option, and everybody on the host can see it.
func (v vendor) Run(ctx context.Context, task Task, tell func(Event)) (Result, error) {
	if _, err := exec.LookPath(v.path); err != nil {
		return failed("engine_missing", v.Title+" is not installed here: "+err.Error()+".", true), nil //nolint:nilerr // it is the result
	}
	in, err := v.start(task, tell)
	if err != nil {
		return Result{}, err
	}
	in.by.ID = task.RunID
	usage := v.usage(in.by)
	steps := v.steps(task)
	spending := transcript.Spending{Base: v.totalsOfThread && task.Session != ""}
	used := func(entries []transcript.Entry) {
		if step, ok := spending.Step(entries, time.Now()); ok {
			tell(Event{Did: []transcript.Step{step}})
		}
		if len(entries) > 0 {
			tell(Event{Usage: entries})
		}
	}
	exit, err := process.Run(ctx, process.Spec{Argv: append([]string{v.path}, in.argv...), Dir: task.Dir,
		Env: append(task.Env[:len(task.Env):len(task.Env)], in.env...), Stdin: task.Prompt,
		Mark: task.mark(), Grace: Grace, MaxLine: maxJSON,
		Line: func(s process.Stream, line []byte) {
			switch {
			case s == process.Stdout && bytes.HasPrefix(line, []byte("{")) && json.Valid(line):
				in.reads.line(line)
				if did := steps.Line(line, time.Now()); len(did) > 0 {
					tell(Event{Did: did})
				}
				used(usage.Line(line, time.Now()))
			case len(bytes.TrimSpace(line)) > 0:
				level := map[process.Stream]string{process.Stdout: "INFO", process.Stderr: "WARNING"}[s]
				tell(Event{Log: &LogLine{Level: level, Event: string(s), Message: cut(string(line))}})
				if in.complains != nil && s == process.Stderr {
					if does := in.complains(string(line)); does != "" {
						tell(step(does))
					}
				}
			}
		}})
	if err != nil {
		return Result{}, err
	}
	used(usage.End(time.Now()))
	return v.ended(ctx, in.reads, exit), nil
}

// ended returns how a program went that has ended.
func (v vendor) ended(ctx context.Context, reads reader, exit process.Exit) Result {
	if ctx.Err() != nil {
		return failed("other", v.Title+" was stopped.", true)
	}
	r, ok := reads.result()
	if !ok || r.OK && exit.Status != 0 {
		message := fmt.Sprintf("%s ended with status %d without a result.", v.Title, exit.Status)
		if exit.Tail != "" {
			message += "\n" + exit.Tail
		}
		if exit.Status == 0 {
			return failed("engine_garbage", message, true)
		}
		return failed("crash", message, true)
	}
	return r
}

func failed(kind, message string, retryable bool) Result {
	return Result{Failure: &Failure{Kind: kind, Message: cut(message), Retryable: retryable}}
}

// mark returns the variable that marks the processes of a run.
func (t Task) mark() string {
	if t.RunID == "" {
		return ""
	}
	return "FLEETBOARD_RUN=" + t.RunID
}

// variables returns the names of a task's variables for the server of tools.
func (t Task) variables() (names []string) {
	for _, v := range t.Env {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "FLEETBOARD_") {
			names = append(names, name)
		}
	}
	return names
}

// variable returns the value of one of the task's variables.
func (t Task) variable(name string) string {
	value := ""
	for _, v := range t.Env {
		if after, ok := strings.CutPrefix(v, name+"="); ok {
			value = after // the last one counts
		}
	}
	return value
}

// firstLine returns the first line of a text that says something.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// cut returns a text that is not too long to be reported.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

// step returns a line that is short enough for a step.
func step(text string) Event {
	line := []rune(firstLine(text[:min(len(text), maxText)]))
	if len(line) > maxStep {
		line = append(line[:maxStep-1], '…')
	}
	return Event{Step: strings.ToValidUTF8(string(line), "")}
}
