package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/fleetboard/fleetboard/handlers/api/stream"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// messageStream is one reader of an inbox that stays.
type messageStream struct {
	*messageHandlers

	ctx    context.Context // of the call; it ends when the reader leaves
	stream *stream.Stream
	who    tenancy.Principal
	query  bus.Query
}

// VisitReadMessagesResponse sends until the reader, its token or the server ends. What it
// sends counts as handed out; the reader acknowledges it by a call.
func (m *messageStream) VisitReadMessagesResponse(w http.ResponseWriter) error {
	return m.stream.Serve(m.ctx, w, m.send)
}

func (m *messageStream) send(ctx context.Context, out *stream.Writer) error {
	out.Beat()
	err := out.Flush()
	for err == nil {
		err = m.next(ctx, out)
	}
	return err
}

// next waits for messages and sends them, or a sign of life.
func (m *messageStream) next(ctx context.Context, out *stream.Writer) error {
	m.query.Wait = streams.Beat
	got, err := m.Bus.Read(ctx, m.who, m.query)
	if err != nil {
		return err
	}
	m.query.After = got.Next
	if len(got.Messages) == 0 {
		out.Beat()
	}
	for _, one := range got.Messages {
		if err := out.Event(strconv.FormatInt(one.Seq, 10), one.Type, messageModel(one)); err != nil {
			return err
		}
	}
	return out.Flush()
}
