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

// Options are those of an engine that runs a vendor's program.
type Options struct {
	// Program is its path; "" looks for the usual name in PATH.
	Program string
}

// or returns the program that is run.
func (o Options) or(name string) string {
	if o.Program != "" {
		return o.Program
	}
	return name
}

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

// invocation is how a program that prints lines of JSON is run on a task.
type invocation struct {
	name  string // of the program, in sentences
	argv  []string
	env   []string // beside the task's
	usage transcript.Translator
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

// invoke runs a program, with the prompt on stdin: an argument can be taken for an option,
// and everybody on the host can see it.
func invoke(ctx context.Context, task Task, in invocation, tell func(Event)) (Result, error) {
	if missing := missing(in.name, in.argv[0]); missing != nil {
		return Result{Failure: missing}, nil
	}
	used := func(entries []transcript.Entry) {
		if len(entries) > 0 {
			tell(Event{Usage: entries})
		}
	}
	exit, err := process.Run(ctx, process.Spec{Argv: in.argv, Dir: task.Dir, Env: append(task.Env[:len(task.Env):len(task.Env)], in.env...),
		Stdin: task.Prompt, Mark: task.mark(), Grace: Grace, MaxLine: maxJSON,
		Line: func(s process.Stream, line []byte) {
			switch {
			case s == process.Stdout && bytes.HasPrefix(line, []byte("{")) && json.Valid(line):
				in.reads.line(line)
				used(in.usage.Line(line, time.Now()))
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
	used(in.usage.End(time.Now()))
	return ended(ctx, in, exit), nil
}

// ended returns how a program went that has ended.
func ended(ctx context.Context, in invocation, exit process.Exit) Result {
	if ctx.Err() != nil {
		return failed("other", in.name+" was stopped.", true)
	}
	r, ok := in.reads.result()
	if !ok || r.OK && exit.Status != 0 {
		message := fmt.Sprintf("%s ended with status %d without a result.", in.name, exit.Status)
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

// missing is why a program cannot be run; nil where it can.
func missing(name, program string) *Failure {
	if _, err := exec.LookPath(program); err != nil {
		return &Failure{Kind: "engine_missing", Message: name + " is not installed here: " + err.Error() + ".", Retryable: true}
	}
	return nil
}

// version runs a program for its version.
func version(ctx context.Context, name, program string) (string, error) {
	if _, err := exec.LookPath(program); err != nil {
		return "", fmt.Errorf("%s is not installed here: %w", name, err)
	}
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s does not run here: %w", name, err)
	}
	return firstLine(string(out)), nil
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
