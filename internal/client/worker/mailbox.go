package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/mcptools"
	"github.com/fleetboard/fleetboard/internal/redact"
)

const (
	// note is the type of messages that are sent without one.
	note = "custom.note"
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

func newMailbox(a *attempt) mailbox {
	return mailbox{w: a.w, job: a.job.Key, secret: a.reporter.secret}
}

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
