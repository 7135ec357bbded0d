package engines

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// Engine is a program that works on tasks. Its methods may be called by several goroutines
// at once.
type Engine interface {
	// Name is what jobs call it: an agent with the engine "claude" has the capability
	// engine:claude.
	Name() string
	// Probe runs the program and returns its version. The error says in a sentence why the
	// program cannot be used here.
	Probe(ctx context.Context) (version string, err error)
	// Run works on a task until the program ends, and reports what happens, from one
	// goroutine at a time. When ctx ends, the whole process group gets a signal to end, and is
	// killed after Grace. The error says that the program could not be started; how it
	// ended otherwise, stands in the Result.
	Run(ctx context.Context, task Task, tell func(Event)) (Result, error)
}

// Grace is how long a program may take to end after the signal to end.
const Grace = 10 * time.Second

// Task is what a program is to do.
type Task struct {
	// Prompt is the text for the agent. Dir is the worktree that it works in.
	Prompt string
	Dir    string
	// Scratch is a directory of this attempt outside the worktree, for files of the engine.
	Scratch string
	// Env is the whole environment of the program, as "NAME=value".
	Env []string
	// Session is one of this engine that goes on; "" begins a new one.
	Session string
	// Model is the one to use; "" leaves it to the program.
	Model string
	// MaxCostUSD is a decimal number of dollars that the program may spend; "" is no limit.
	// Engines whose program knows no such limit leave it to the worker.
	MaxCostUSD string
	// RunID is unique for this attempt: the usage of the run is reported under it.
	RunID string
	// MCP is the command line of a server of tools on stdin and stdout; empty for none.
	MCP []string
	// Later: the work was done, and the prompt is what came meanwhile.
	Later bool
	// Script is what the scripted engine does, as JSON; others ignore it.
	Script []byte
}

// Event is something that a program did. One field is set.
type Event struct {
	// Session is the name under which the program can go on later.
	Session string
	// Step is what it does now, in a line.
	Step string
	// Log is a line for the log of the job.
	Log *LogLine
	// Usage has grown.
	Usage []transcript.Entry
	// Did is what it did, for the transcript of the attempt.
	Did []transcript.Step
}

// LogLine is a line of the log of a job.
type LogLine struct {
	Level   string // DEBUG, INFO, WARNING, ERROR
	Event   string // what it is about, such as "tool" or "stderr"
	Message string
}

// Result is how a program ended.
type Result struct {
	// OK: the program says that it is done, and ended with status 0.
	OK bool
	// Summary is the last that the agent said, or what it printed at its end.
	Summary string
	// Question is what the program wants a person to decide before it goes on; it has ended.
	Question string
	// Failure is set where OK is not: its kind as POST /fleet/fail takes it, and a sentence.
	Failure *Failure
}

// Failure is why a program did not do its task.
type Failure struct {
	// Kind is one of those of the API: crash, timeout, budget_exceeded, rate_limited, auth,
	// billing, refused, context_overflow, engine_missing, engine_garbage, other.
	Kind    string
	Message string
	// RetryAfter is when a provider that limits its rate may be called again; 0 where it did
	// not say.
	RetryAfter time.Duration
	// Retryable: another attempt may go better.
	Retryable bool
}
