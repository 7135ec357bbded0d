package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// Scripted returns the engine that plays a script, for tests and for the demo. A task without
// one adds a line to JOBS.md.
func Scripted() Engine { return scripted{} }

// Script is what the scripted engine plays, as JSON.
type Script struct {
	Steps []ScriptStep `json:"steps"`
	// Later is what a turn plays that comes after the work was done.
	Later []ScriptStep `json:"later,omitempty"`
}

// ScriptStep is what happens one after the other: it says Step, writes Log, reports Usage,
// waits SleepMS milliseconds, runs Run in the shell, calls Tool, and reads messages until one
// of the type Await comes. Ask, Fail and Crash end the script: with
// a question to a person, a failure, or the end of the program without a word.
type ScriptStep struct {
	Step    string            `json:"step,omitempty"`
	Log     string            `json:"log,omitempty"`
	Usage   *transcript.Entry `json:"usage,omitempty"`
	SleepMS int               `json:"sleep_ms,omitempty"`
	Run     string            `json:"run,omitempty"`
	Tool    *ScriptTool       `json:"tool,omitempty"`
	Await   string            `json:"await,omitempty"`
	Ask     string            `json:"ask,omitempty"`
	Fail    *ScriptFailure    `json:"fail,omitempty"`
	Crash   bool              `json:"crash,omitempty"`
}

// ScriptFailure is a failure as a Result has it.
type ScriptFailure struct {
	Kind              string `json:"kind"`
	Message           string `json:"message"`
	RetryAfterSeconds int    `json:"retry_after_seconds,omitempty"`
	Final             bool   `json:"final,omitempty"` // another attempt would go no better
}

type scripted struct{}

// Name is "scripted".
func (scripted) Name() string { return "scripted" }

// Probe always finds it.
func (scripted) Probe(context.Context) (string, error) { return "1.0", nil }

// Run plays the task's script. A session that goes on plays it from after the last question
// that it asked; one that messages come to later logs them, and plays what the script has for later.
func (scripted) Run(ctx context.Context, task Task, tell func(Event)) (Result, error) {
	script, unreadable := readScript(task.Script)
	if unreadable != nil {
		return Result{Failure: unreadable}, nil
	}
	if task.Later {
		tell(Event{Log: &LogLine{Level: "INFO", Event: "messages", Message: cut(task.Prompt)}})
		return playAll(ctx, task, script.Later, 0, Result{OK: true}, tell)
	}
	begin, ok := findBegin(task.Session, len(script.Steps))
	if !ok {
		return failed("other", "There is no session "+task.Session+".", true), nil
	}
	tell(sessionAt(begin))
	return playAll(ctx, task, script.Steps, begin, Result{OK: true, Summary: "The script was played."}, tell)
}

// playAll plays steps from one on, and returns done where none ends the script before.
func playAll(ctx context.Context, task Task, steps []ScriptStep, begin int, done Result, tell func(Event)) (Result, error) {
	var known scene
	for i, s := range steps[begin:] {
		r, over, err := play(ctx, task, begin+i, s, &known, tell)
		if over || err != nil {
			return r, err
		}
	}
	return done, nil
}

// readScript reads a script; where there is none, it is the one that adds a line.
func readScript(raw []byte) (Script, *Failure) {
	if len(raw) == 0 {
		return Script{Steps: []ScriptStep{{Step: "adds a line", Run: `printf '* %s\n' "$FLEETBOARD_JOB" >>JOBS.md`}}}, nil
	}
	var s Script
	if err := json.Unmarshal(raw, &s); err != nil {
		return Script{}, &Failure{Kind: "other", Message: "The script cannot be read: " + err.Error()}
	}
	return s, nil
}

const sessionPrefix = "script-"

// sessionAt returns the session that goes on with step i.
func sessionAt(i int) Event { return Event{Session: sessionPrefix + strconv.Itoa(i)} }

// findBegin returns the step that a session goes on with; ok is false where there is no such one.
func findBegin(session string, steps int) (begin int, ok bool) {
	if session == "" {
		return 0, true
	}
	begin, err := strconv.Atoi(strings.TrimPrefix(session, sessionPrefix))
	return begin, err == nil && begin >= 0 && begin <= steps
}

// play plays a step; over says that the script ends with it.
func play(ctx context.Context, task Task, i int, s ScriptStep, known *scene, tell func(Event)) (r Result, over bool, err error) {
	if s.Step != "" {
		tell(Event{Step: s.Step})
	}
	if s.Step != "" || s.Log != "" {
		tell(did(transcript.Message, "", strings.TrimSpace(s.Step+"\n"+s.Log)))
	}
	if s.Log != "" {
		tell(Event{Log: &LogLine{Level: "INFO", Event: "script", Message: s.Log}})
	}
	if u := s.Usage; u != nil {
		u.ID, u.At = fmt.Sprintf("%s-%d", task.RunID, i), time.Now()
		tell(Event{Usage: []transcript.Entry{*u}})
	}
	if s.SleepMS > 0 {
		pause := time.NewTimer(time.Duration(s.SleepMS) * time.Millisecond)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return Result{}, true, nil
		}
	}
	if s.Run != "" {
		if r, err = shell(ctx, task, s.Run, tell); err != nil || !r.OK {
			return r, true, err
		}
	}
	if r, over := useTools(ctx, task, s, known, tell); over {
		return r, true, nil
	}
	switch {
	case s.Ask != "":
		tell(sessionAt(i + 1))
		return Result{OK: true, Question: s.Ask}, true, nil
	case s.Fail != nil:
		return Result{Failure: &Failure{Kind: s.Fail.Kind, Message: s.Fail.Message, Retryable: !s.Fail.Final,
			RetryAfter: time.Duration(s.Fail.RetryAfterSeconds) * time.Second}}, true, nil
	case s.Crash:
		return Result{Failure: &Failure{Kind: "crash", Message: "The agent program ended without a result.", Retryable: true}}, true, nil
	}
	return Result{}, ctx.Err() != nil, nil
}

// useTools does what a step wants of the task's tools; over says that it failed.
func useTools(ctx context.Context, task Task, s ScriptStep, known *scene, tell func(Event)) (r Result, over bool) {
	var err error
	if s.Tool != nil {
		err = known.call(ctx, task, *s.Tool)
	}
	if err == nil && s.Await != "" {
		err = known.await(ctx, task, s.Await, tell)
	}
	if err == nil {
		return Result{}, false
	}
	return failed("other", "A tool failed: "+err.Error(), true), true
}
