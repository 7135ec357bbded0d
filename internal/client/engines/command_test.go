package engines_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines"
)

// run runs an engine on a task in a directory of its own, with this PATH.
func run(ctx context.Context, t *testing.T, e engines.Engine, task engines.Task) (engines.Result, []engines.Event) {
	t.Helper()
	if task.Dir == "" {
		task.Dir = t.TempDir()
	}
	task.Env = append(task.Env, "PATH="+os.Getenv("PATH"))
	var events []engines.Event
	r, err := e.Run(ctx, task, func(e engines.Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	return r, events
}

// said returns the steps and the log lines of events.
func said(events []engines.Event) (lines []string) {
	for _, e := range events {
		if e.Step != "" {
			lines = append(lines, e.Step)
		}
		if e.Log != nil {
			lines = append(lines, e.Log.Level+" "+e.Log.Event+" "+e.Log.Message)
		}
	}
	return lines
}

func TestACommandGetsThePromptAndTheEnvironment(t *testing.T) {
	t.Parallel()
	r, events := run(t.Context(), t, engines.Command(`echo "$NAME, $(cat)"; echo careful >&2; echo; env | grep -c HOME=; echo all done`),
		engines.Task{Prompt: "do\nit", Env: []string{"NAME=job"}})
	lines := said(events)
	slices.Sort(lines) // those of the two streams come in any order
	want := []string{"INFO stdout 0", "INFO stdout all done", "INFO stdout it", "INFO stdout job, do", "WARNING stderr careful"}
	if !r.OK || r.Summary != "all done" || !slices.Equal(lines, want) {
		t.Errorf("result %+v, lines %q; want %q", r, lines, want)
	}
	var kinds []string
	for _, e := range events {
		for _, d := range e.Did {
			kinds = append(kinds, d.Kind+" "+d.Tool)
		}
	}
	if slices.Sort(kinds[1:]); !slices.Equal(kinds, []string{"tool sh", "output stderr", "output stdout", "output stdout", "output stdout", "output stdout"}) {
		t.Errorf("the transcript has %q", kinds)
	}
	r, _ = run(t.Context(), t, engines.Command(`echo "no disk" >&2; exit 3`), engines.Task{})
	if f := r.Failure; r.OK || f == nil || f.Kind != "other" || !f.Retryable || f.Message != "The command ended with status 3.\nno disk" {
		t.Errorf("result %+v, failure %+v", r, f)
	}
}

func TestEnginesByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"scripted": "scripted", "command:make -k work": "command"} {
		if e, err := engines.ByName(name); err != nil || e.Name() != want {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	for _, name := range []string{"", "command:", "command: ", "gemini", "Claude"} {
		if e, err := engines.ByName(name); err == nil || !strings.Contains(err.Error(), "use claude, codex") {
			t.Errorf("%q: %v, %v", name, e, err)
		}
	}
}

func script(t *testing.T, steps ...engines.ScriptStep) []byte {
	t.Helper()
	text, err := json.Marshal(engines.Script{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Each question ends a run, and its session goes on after it; one that was stopped before a
// question has not asked it yet.
func TestAScriptGoesOnAfterItsQuestions(t *testing.T) {
	t.Parallel()
	task := engines.Task{Dir: t.TempDir(), RunID: t.Name(), Script: script(t,
		engines.ScriptStep{Step: "one", Run: "echo one >>did"}, engines.ScriptStep{Ask: "Which colour?"},
		engines.ScriptStep{Step: "two", Run: "echo two >>did"}, engines.ScriptStep{Ask: "Which size?"},
		engines.ScriptStep{Step: "three", Run: "echo three >>did"})}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for i, want := range []struct{ question, did string }{{"", ""}, {"Which colour?", "one"}, {"Which size?", "one two"}, {"", "one two three"}} {
		ctx := t.Context()
		if i == 0 {
			ctx = stopped
		}
		r, events := run(ctx, t, engines.Scripted(), task)
		for _, e := range events {
			if e.Session != "" {
				task.Session = e.Session
			}
		}
		did, _ := os.ReadFile(task.Dir + "/did")
		if r.Question != want.question || r.OK == (i == 0) || (i > 0 && strings.Join(strings.Fields(string(did)), " ") != want.did) {
			t.Errorf("run %d: %+v, it did %q; want %+v", i, r, did, want)
		}
		if i == 0 {
			if err := os.RemoveAll(task.Dir + "/did"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAScriptSaysFailsAndCrashes(t *testing.T) {
	t.Parallel()
	r, events := run(t.Context(), t, engines.Scripted(), engines.Task{RunID: t.Name(), Script: []byte(`{"steps": [
		{"step": "thinks", "log": "It is hard.", "usage": {"provider": "p", "model": "m", "input_tokens": 5}, "sleep_ms": 1},
		{"fail": {"kind": "rate_limited", "message": "Too many.", "retry_after_seconds": 30}}, {"step": "never"}]}`)})
	if f := r.Failure; f == nil || f.Kind != "rate_limited" || f.RetryAfter != 30*time.Second || !f.Retryable {
		t.Errorf("result %+v, failure %+v", r, f)
	}
	if lines := said(events); !slices.Equal(lines, []string{"thinks", "INFO script It is hard."}) {
		t.Errorf("lines %q", lines)
	}
	if u := events[len(events)-1].Usage; len(u) != 1 || u[0].Input != 5 || u[0].ID == "" || u[0].At.IsZero() {
		t.Errorf("events %+v", events)
	}
	r, _ = run(t.Context(), t, engines.Scripted(), engines.Task{RunID: t.Name(), Script: script(t, engines.ScriptStep{Crash: true})})
	if r.Failure == nil || r.Failure.Kind != "crash" {
		t.Errorf("result %+v", r)
	}
	r, _ = run(t.Context(), t, engines.Scripted(), engines.Task{RunID: t.Name(), Script: []byte(`{"steps": 3}`)})
	if r.Failure == nil || r.Failure.Retryable {
		t.Errorf("result %+v", r)
	}
	dir := t.TempDir()
	r, _ = run(t.Context(), t, engines.Scripted(), engines.Task{Dir: dir, RunID: t.Name(), Env: []string{"FLEETBOARD_JOB=FB-1"}})
	if text, _ := os.ReadFile(dir + "/JOBS.md"); !r.OK || string(text) != "* FB-1\n" {
		t.Errorf("result %+v, file %q", r, text)
	}
}
