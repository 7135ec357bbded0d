package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/mcptools"
)

// serveTools serves the tools of an attempt to its engine, at a socket whose path it
// returns, until close is called. The path is "" where the worker has no program to serve
// them with.
func (a *attempt) serveTools(ctx context.Context) (socket string, closing func(), err error) {
	if a.w.Program == "" {
		return "", func() {}, nil
	}
	// Paths of sockets are short: about a hundred characters, whatever the state's is.
	dir, err := os.MkdirTemp("", a.w.socketPrefix())
	if err != nil {
		return "", nil, err
	}
	socket = filepath.Join(dir, "tools")
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", socket)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	serving, stop := context.WithCancel(ctx)
	var server sync.WaitGroup
	server.Go(func() {
		if err := answerTools(serving, listener, a); err != nil && serving.Err() == nil {
			a.w.Log.Warn("the tools of an attempt ended: "+err.Error(), "job", a.job.Key)
		}
	})
	return socket, func() {
		stop()
		server.Wait()
		_ = os.RemoveAll(dir) // it is empty, in the directory of temporary files
	}, nil
}

// answerTools answers the engine of an attempt at a listener, with the tools that its job has.
func answerTools(ctx context.Context, listener net.Listener, a *attempt) error {
	if a.verifies != nil {
		return mcptools.ServeVerifier(ctx, listener, a.verifies)
	}
	return mcptools.Serve(ctx, listener, tools{a}, newMailbox(a))
}

// socketPrefix begins the names of the directories with this worker's sockets.
func (w *Worker) socketPrefix() string {
	state := sha256.Sum256([]byte(w.State))
	return "fleet-" + hex.EncodeToString(state[:6]) + "-"
}

// clearSockets removes the sockets of a process before this one that was killed. A socket's
// directory has nothing else in it.
func (w *Worker) clearSockets() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), w.socketPrefix()+"*")) // the pattern is sound
	for _, dir := range left {
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, "tools")), os.Remove(dir)); err != nil {
			w.Log.Warn("a socket of before stays: " + err.Error())
		}
	}
}

// tools is what the agent of an attempt may call, for mcptools.Handler.
type tools struct{ *attempt }

// Progress says what the agent does.
func (a tools) Progress(_ context.Context, p mcptools.Progress) error {
	if p.Percent != nil {
		a.reporter.percent(*p.Percent)
	}
	a.reporter.step(p.Step)
	return nil
}

// askGrace is how long an agent that asked a person may take to end its turn.
const askGrace = time.Minute

// Ask keeps a question to a person. The attempt ends with it once the agent has ended its
// turn, after askGrace at the latest.
func (a tools) Ask(_ context.Context, question string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.question != "" {
		return errors.New("a question was asked already; end your turn now")
	}
	a.question = question
	time.AfterFunc(askGrace, func() { a.lease.end(whyAsked, "") })
	return nil
}

// Checkpoint keeps what the agent wants the next attempt to know.
func (a tools) Checkpoint(_ context.Context, c json.RawMessage) error {
	a.mu.Lock()
	a.agent = c
	a.mu.Unlock()
	a.reporter.checkpoint(a.checkpointNow())
	return nil
}

// FileJob makes a job that follows from this one.
func (a tools) FileJob(ctx context.Context, n mcptools.NewJob) (key string, err error) {
	once := random()
	answer, err := a.w.api.CreateJobWithResponse(ctx, &api.CreateJobParams{IdempotencyKey: &once}, api.NewJob{
		Title: n.Title, Body: text(n.Body), Kind: text(n.Kind), Priority: n.Priority, Repo: text(n.Repo),
		DiscoveredFrom: &api.Discovery{Job: a.job.Key, Epoch: a.lease.epoch}})
	var refusal *api.Error
	if errors.As(err, &refusal) {
		return "", fmt.Errorf("the job was refused: %w", refusal)
	}
	if err != nil {
		return "", err
	}
	key = cmp.Or(answer.JSON201, answer.JSON200).Key // 200 where the first answer was lost
	a.w.inbox.files(a.job.Key, key)
	a.reporter.checkpoint(a.checkpointNow())
	if err := writeFiled(a.scratch, a.w.inbox.filedBy(a.job.Key)); err != nil {
		a.w.Log.Warn("messages about filed jobs may be lost to this attempt: "+err.Error(), "job", a.job.Key)
	}
	return key, nil
}

// Answer answers the question of a job that was filed.
func (a tools) Answer(ctx context.Context, job, answer string) error {
	_, err := a.w.api.AnswerJobWithResponse(ctx, job, api.AnswerAction{Answer: a.reporter.secret.Text(answer)})
	return err
}

// asked returns how the attempt ends where the agent asked a person.
func (a *attempt) asked() (ending, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.question == "" {
		return ending{}, false
	}
	return ending{said: "asks: " + a.question, body: &api.Question{Question: plainText(a.question)}}, true
}
