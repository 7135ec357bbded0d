package worker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/engines/transcript"
)

// maxTurns is how many turns messages bring an engine in an attempt.
const maxTurns = 10

// runEngine runs the engine on the job; where its last session cannot go on, once more
// without it.
func (a *attempt) runEngine(ctx context.Context) (engines.Result, error) {
	left := leftBehind(a.job.Checkpoint)
	if left.Engine == a.engine.Name() && left.Factory == a.w.Factory {
		a.session = left.Session
	}
	a.model = a.w.chooseModel(a.engine.Name(), a.job)
	a.tellModel(ctx)
	socket, closeTools, err := a.serveTools(ctx)
	if err != nil {
		return engines.Result{}, err
	}
	defer closeTools()
	defer a.watchTouched(ctx)()
	turns := turns{a, socket}
	result, err := turns.first(ctx, a.session)
	if err == nil && !result.OK && a.session != "" && !a.hasSpoken() && ctx.Err() == nil {
		a.reporter.log("WARNING", "session", "The session of the last attempt cannot go on; the agent begins a new one.")
		a.setSession("")
		result, err = turns.first(ctx, "")
	}
	if err != nil {
		return result, err
	}
	return turns.readMessages(ctx, result)
}

// turns are those of the engine of an attempt.
type turns struct {
	*attempt

	socket string // of its tools; "" where it has none
}

// first runs the engine on the job.
func (a turns) first(ctx context.Context, session string) (engines.Result, error) {
	task, err := a.task(session, prompt(a.job, session != "", a.socket != ""))
	if err != nil {
		return engines.Result{}, err
	}
	return a.invoke(ctx, task, a.handleEvent)
}

// task returns what the engine is to do, which its prompt says.
func (a turns) task(session, prompt string) (engines.Task, error) {
	task := engines.Task{
		Prompt:     prompt,
		Dir:        a.dir(),
		Scratch:    a.scratch,
		Session:    session,
		Model:      a.model.Name,
		MaxCostUSD: mayCost(a.job),
		RunID:      a.at.Name() + "-" + random()[:8],
		Script:     script(a.job),
		Env:        append(a.env, "FLEETBOARD_PROMPT_FILE="+filepath.Join(a.scratch, "prompt.md")),
	}
	if err := os.WriteFile(filepath.Join(a.scratch, "prompt.md"), []byte(task.Prompt), 0o600); err != nil {
		return engines.Task{}, err
	}
	if a.model.Name != "" {
		task.Env = append(task.Env, "FLEETBOARD_MODEL="+a.model.Name)
	}
	if a.socket != "" {
		task.MCP = []string{a.w.Program, "mcp"}
		task.Env = append(task.Env, "FLEETBOARD_WORKER_SOCKET="+a.socket)
	}
	return task, nil
}

// readMessages gives the engine, after a turn that ended well, another one in its session for what
// came meanwhile. An engine without sessions would begin its work anew, and gets none.
func (a turns) readMessages(ctx context.Context, result engines.Result) (engines.Result, error) {
	for range maxTurns {
		session, asked := a.state()
		if asked || session == "" || !result.OK || result.Question != "" {
			return result, nil
		}
		got, _ := a.w.inbox.take(a.job.Key)
		if len(got) == 0 {
			return result, nil
		}
		said, err := a.messages(ctx, session, got)
		if err != nil {
			return said, err
		}
		if said.Summary == "" {
			said.Summary = result.Summary
		}
		result = said
	}
	return result, nil
}

// messages is a turn for messages. They are acknowledged once the engine does something.
func (a turns) messages(ctx context.Context, session string, got []api.Message) (engines.Result, error) {
	a.reporter.step("reads messages")
	task, err := a.task(session, messagesPrompt(newMailbox(a.attempt).shown(ctx, got)))
	if err != nil {
		return engines.Result{}, err
	}
	task.Later = true
	var once sync.Once
	heard := func() { _ = a.w.mail.acknowledge(ctx, listSeqs(got)) } // it is sent again
	result, err := a.invoke(ctx, task, func(e engines.Event) {
		once.Do(heard)
		a.handleEvent(e)
	})
	if err == nil && result.OK {
		once.Do(heard)
	}
	once.Do(func() { a.w.inbox.put(got, 0, sinceBoot()) }) // it came to nothing: they wait again
	return result, err
}

// handleEvent takes what the engine does.
func (a *attempt) handleEvent(e engines.Event) {
	if e.Session != "" {
		a.setSession(e.Session)
		a.reporter.checkpoint(a.checkpointNow())
		return
	}
	if hasTokens(e.Usage) {
		a.restoreEngine()
	}
	if e.Usage != nil || e.Step != "" {
		a.mu.Lock()
		a.spoke = true
		a.mu.Unlock()
	}
	a.reporter.event(e)
}

// hasTokens reports whether a model has answered.
func hasTokens(usage []transcript.Entry) bool {
	return slices.ContainsFunc(usage, func(e transcript.Entry) bool { return e.Output > 0 })
}

func (a *attempt) hasSpoken() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spoke
}

func (a *attempt) setSession(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = s
}

// state returns the session of the engine, and whether it asked a person.
func (a *attempt) state() (session string, asked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session, a.question != ""
}
