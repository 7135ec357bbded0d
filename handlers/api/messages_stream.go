package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"fleetboard/internal/bus"
	"fleetboard/internal/tenancy"
)

// messageStream is one reader of an inbox that stays.
type messageStream struct {
	*messageHandlers
	streamWriter

	ctx   context.Context //nolint:containedctx // of the call; it ends when the reader leaves
	who   tenancy.Principal
	query bus.Query
	leave func()
}

// VisitReadMessagesResponse sends until the reader, its token or the server ends. What it
// sends counts as handed out; the reader acknowledges it by a call.
func (m *messageStream) VisitReadMessagesResponse(w http.ResponseWriter) error {
	defer m.leave()
	m.begin(w)
	// The end has a time of its own: that of the last piece may be over.
	defer m.allowTime()
	ctx, end := context.WithCancel(m.ctx)
	defer end()
	go m.watch(ctx, end)
	fmt.Fprintf(&m.buf, "retry: %d\n\n", retryMillis)
	err := m.flush()
	for err == nil {
		err = m.next(ctx)
	}
	if m.gone || ctx.Err() != nil {
		return nil // there is nobody to tell
	}
	return err
}

// watch ends the stream when the server stops, or soon after its token has ended.
func (m *messageStream) watch(ctx context.Context, end func()) {
	defer end()
	every := streaming.check
	if m.who.Kind == tenancy.KindAgent {
		every = min(every, streaming.agentCheck)
	}
	check := time.NewTicker(every)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.done:
			return
		case <-check.C:
			if !mayGoOn(m.ctx, m.tokens, m.who) {
				return
			}
		}
	}
}

// next waits for messages and sends them, or a sign of life.
func (m *messageStream) next(ctx context.Context) error {
	m.query.Wait = streaming.beat
	got, err := m.bus.Read(ctx, m.who, m.query)
	if err != nil {
		return err
	}
	m.query.After = got.Next
	if len(got.Messages) == 0 {
		m.buf.WriteString(":\n\n")
	}
	for _, one := range got.Messages {
		data, err := json.Marshal(messageModel(one))
		if err != nil {
			return fmt.Errorf("encode message %s: %w", one.ID, err)
		}
		fmt.Fprintf(&m.buf, "id: %d\nevent: %s\ndata: %s\n\n", one.Seq, one.Type, data)
	}
	return m.flush()
}
