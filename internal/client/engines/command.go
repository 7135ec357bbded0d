package engines

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines/process"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// Command returns the engine that runs a line of the shell. It gets the prompt on stdin and in
// the file FLEETBOARD_PROMPT_FILE, and what it prints becomes lines of the log; the last
// one of stdout is the summary. Status 0 is success.
func Command(line string) Engine { return command{line} }

type command struct{ line string }

// Name is always "command": jobs name the kind of engine, not the line.
func (command) Name() string { return "command" }

// Probe looks for the first word of the line, where it names a program.
func (c command) Probe(context.Context) (string, error) {
	words := strings.Fields(c.line)
	if len(words) == 0 {
		return "", errors.New("the command is empty")
	}
	if strings.ContainsAny(words[0], "$`'\"(=;&|<>") {
		return "", nil // the shell knows better
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return "", fmt.Errorf("there is no program %s", words[0])
	}
	return "", nil
}

// Run runs the line in the worktree.
func (c command) Run(ctx context.Context, task Task, tell func(Event)) (Result, error) {
	return shell(ctx, task, c.line, tell)
}

// shell runs a line of the shell as a task.
func shell(ctx context.Context, task Task, line string, tell func(Event)) (Result, error) {
	last := ""
	tell(did(transcript.Tool, "sh", line))
	exit, err := process.Run(
		ctx,
		process.Spec{Argv: []string{"sh", "-c", line}, Dir: task.Dir, Env: task.Env, Stdin: task.Prompt, Mark: task.mark(), Grace: Grace,
			Line: func(s process.Stream, raw []byte) {
				text := strings.ToValidUTF8(string(raw), "?")
				if strings.TrimSpace(text) == "" {
					return
				}
				level := "INFO"
				if s == process.Stderr {
					level = "WARNING"
				} else {
					last = text
				}
				tell(Event{Log: &LogLine{Level: level, Event: string(s), Message: text}})
				tell(did(transcript.Output, string(s), text))
			}},
	)
	if err != nil {
		return Result{}, err
	}
	if exit.Status != 0 {
		tell(did(transcript.Output, "sh", fmt.Sprintf("exit %d", exit.Status)))
		message := fmt.Sprintf("The command ended with status %d.", exit.Status)
		if exit.Tail != "" {
			message += "\n" + exit.Tail
		}
		return Result{Failure: &Failure{Kind: "other", Message: message, Retryable: true}}, nil
	}
	return Result{OK: true, Summary: last}, nil
}

// did is a step of a tool for the transcript.
func did(kind, tool, text string) Event {
	return Event{Did: []transcript.Step{{At: time.Now(), Kind: kind, Tool: tool, Text: text}}}
}
