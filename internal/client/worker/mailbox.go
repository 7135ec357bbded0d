package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/mcptools"
	"github.com/fleetboard/fleetboard/internal/redact"
)

const (
	// note is the type of messages that are sent without one.
	note = "custom.note"
	// maxTurns is how many turns messages bring an engine in an attempt.
	maxTurns = 10
	// maxPayload bounds a payload that is read from a blob, payloadTimeout how long that takes.
	maxPayload     = 256 << 10
	payloadTimeout = 30 * time.Second
)

// mailbox is what the attempt on a job sends and reads.
type mailbox struct {
	w      *Worker
	job    string
	secret *redact.Redactor
}

func newMailbox(a *attempt) mailbox { return mailbox{w: a.w, job: a.job.Key, secret: a.told.secret} }

// Send sends a message of the attempt, for mcptools.Mailbox.
func (b mailbox) Send(ctx context.Context, m mcptools.NewMessage) error {
	to, err := addressee(m.To)
	if err != nil {
		return err
	}
	kind := m.Type
	if kind == "" {
		kind = note
	}
	payload, err := json.Marshal(map[string]string{"text": b.secret.Text(m.Text)})
	if err != nil {
		return err
	}
	_, err = b.w.api.SendMessageWithResponse(ctx, api.NewMessage{Type: kind, To: to, Job: &b.job,
		CorrelationID: text(m.Thread), Payload: payload})
	var refusal *api.Error
	if errors.As(err, &refusal) {
		return fmt.Errorf("the message was refused: %w", refusal)
	}
	return err
}

// addressee reads an address: kind:name, or all.
func addressee(address string) (to api.NewMessageAddress, err error) {
	kind, name, _ := strings.Cut(address, ":")
	if address == "all" {
		return api.NewMessageAddress{All: new(true)}, nil
	}
	for known, place := range map[string]**string{"agent": &to.Agent, "role": &to.Role, "factory": &to.Factory, "person": &to.Person} {
		if kind == known && name != "" {
			*place = &name
			return to, nil
		}
	}
	return to, errors.New("to must be agent:NAME, role:NAME, factory:NAME, person:MAIL or all")
}

// Receive gives the agent what waits, and waits for the first message where nothing does.
func (b mailbox) Receive(ctx context.Context, wait time.Duration) ([]mcptools.Message, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		got, changed := b.w.inbox.take(b.job)
		if len(got) > 0 {
			_ = b.w.mail.acknowledge(ctx, listSeqs(got)) // it is sent again
			return b.shown(ctx, got), nil
		}
		select {
		case <-changed:
		case <-over.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Waiting returns how many messages wait for the attempt.
func (b mailbox) Waiting() int { return b.w.inbox.count(b.job) }

// shown are messages as the agent reads them.
func (b mailbox) shown(ctx context.Context, list []api.Message) []mcptools.Message {
	all := make([]mcptools.Message, 0, len(list))
	for _, m := range list {
		if m.Blob != "" {
			m.Payload, m.Blob = b.storePayload(ctx, m.Blob)
		}
		all = append(all, mcptools.Message{From: whom(m.From), Type: m.Type, Thread: m.CorrelationID, Job: m.Job,
			Payload: b.secret.JSON(m.Payload), Blob: m.Blob, At: m.At})
	}
	return all
}

// storePayload reads a payload that is kept as a blob. The name stays where it cannot be read now,
// where it is no JSON, and where it is larger than one that the server makes a blob of.
func (b mailbox) storePayload(ctx context.Context, name string) (payload json.RawMessage, left string) {
	ctx, cancel := context.WithTimeout(ctx, payloadTimeout)
	defer cancel()
	answer, err := b.w.api.GetBlob(ctx, name)
	if err != nil {
		b.w.Log.Warn("the payload of a message could not be read: "+err.Error(), "blob", name)
		return nil, name
	}
	defer func() { _ = answer.Body.Close() }()
	payload, err = io.ReadAll(io.LimitReader(answer.Body, maxPayload+1))
	if err != nil || len(payload) > maxPayload || !json.Valid(payload) {
		return nil, name
	}
	return payload, ""
}

// laterTurns are those of an engine whose work is done.
type laterTurns struct {
	*attempt

	socket string // of its tools
}

// run gives the engine, after a turn that ended well, another one in its session for what
// came meanwhile. An engine without sessions would begin its work anew, and gets none.
func (a laterTurns) run(ctx context.Context, result engines.Result) (engines.Result, error) {
	for range maxTurns {
		session, asked := a.state()
		if asked || session == "" || !result.OK || result.Question != "" {
			return result, nil
		}
		got, _ := a.w.inbox.take(a.job.Key)
		if len(got) == 0 {
			return result, nil
		}
		said, err := a.one(ctx, session, got)
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

// one returns a turn for messages. They are acknowledged once the engine does something.
func (a laterTurns) one(ctx context.Context, session string, got []api.Message) (engines.Result, error) {
	a.told.step("reads messages")
	task, err := a.task(a.socket, session, messagesPrompt(newMailbox(a.attempt).shown(ctx, got)))
	if err != nil {
		return engines.Result{}, err
	}
	task.Later = true
	var once sync.Once
	heard := func() { _ = a.w.mail.acknowledge(ctx, listSeqs(got)) } // it is sent again
	result, err := a.engine.Run(ctx, task, func(e engines.Event) {
		once.Do(heard)
		a.handleEvent(e)
	})
	if err == nil && result.OK {
		once.Do(heard)
	}
	once.Do(func() { a.w.inbox.put(got, 0, sinceBoot()) }) // it came to nothing: they wait again
	return result, err
}

// state returns the session of the engine, and whether it asked a person.
func (a *attempt) state() (session string, asked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session, a.question != ""
}
