package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/api/stream"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// messageHandlers answer the calls about messages.
type messageHandlers struct{ *Deps }

// SendMessage sends one message.
func (s *messageHandlers) SendMessage(ctx context.Context, r SendMessageRequestObject) (SendMessageResponseObject, error) {
	draft, err := toDraft(*r.Body)
	if err != nil {
		return nil, err
	}
	sent, err := s.Bus.PublishOnce(ctx, principal(ctx), callFrom(ctx).once, draft)
	if err != nil {
		return nil, err
	}
	if !sent[0].New {
		return SendMessage200JSONResponse(messageModel(sent[0].Message)), nil
	}
	return SendMessage201JSONResponse(messageModel(sent[0].Message)), nil
}

// SendMessages sends several messages, all or none.
func (s *messageHandlers) SendMessages(ctx context.Context, r SendMessagesRequestObject) (SendMessagesResponseObject, error) {
	drafts := make([]bus.Draft, 0, len(r.Body.Messages))
	for i, in := range r.Body.Messages {
		draft, err := toDraft(in)
		if err != nil {
			return nil, bus.InBatch(err, i, len(r.Body.Messages))
		}
		drafts = append(drafts, draft)
	}
	sent, err := s.Bus.PublishOnce(ctx, principal(ctx), callFrom(ctx).once, drafts...)
	return SendMessages200JSONResponse{Items: mapSlice(sent, func(m bus.Sent) Message { return messageModel(m.Message) })}, err
}

// ReadMessages hands out what is in the caller's inbox, once or as a stream.
func (s *messageHandlers) ReadMessages(ctx context.Context, r ReadMessagesRequestObject) (ReadMessagesResponseObject, error) {
	p, who := r.Params, principal(ctx)
	in := bus.Query{After: value(p.After), Wait: time.Duration(value(p.WaitSeconds)) * time.Second, Types: value(p.Types),
		Limit: limit(p.Limit), Peek: value(p.Peek)}
	if callFrom(ctx).stream {
		place, err := openStream(ctx, s.Deps)
		if err != nil {
			return nil, err
		}
		return &messageStream{messageHandlers: s, ctx: ctx, stream: place, who: who, query: in}, nil
	}
	got, err := s.Bus.Read(ctx, who, in)
	return ReadMessages200JSONResponse{Items: mapSlice(got.Messages, messageModel), NextAfter: got.Next}, err
}

// AckMessages takes messages out of the caller's inbox.
func (s *messageHandlers) AckMessages(ctx context.Context, r AckMessagesRequestObject) (AckMessagesResponseObject, error) {
	if (r.Body.Seq == nil) == (r.Body.Seqs == nil) {
		return nil, fault.Invalid("seq", "There must be seq or seqs.")
	}
	var n int64
	var err error
	if r.Body.Seq != nil {
		n, err = s.Bus.AckUpTo(ctx, principal(ctx), *r.Body.Seq)
	} else {
		n, err = s.Bus.Ack(ctx, principal(ctx), *r.Body.Seqs)
	}
	return AckMessages200JSONResponse{Acked: n}, err
}

// NackMessage gives a message back for later.
func (s *messageHandlers) NackMessage(ctx context.Context, r NackMessageRequestObject) (NackMessageResponseObject, error) {
	dead, err := s.Bus.Nack(ctx, principal(ctx), r.Body.Seq, value(r.Body.Error), time.Duration(value(r.Body.RetryInSeconds))*time.Second)
	return NackMessage200JSONResponse{Dead: dead}, err
}

// SearchMessages finds messages by their words.
func (s *messageHandlers) SearchMessages(ctx context.Context, r SearchMessagesRequestObject) (SearchMessagesResponseObject, error) {
	f := bus.Filter{Types: single(r.Params.Type), Senders: single(r.Params.From), Jobs: single(r.Params.Job)}
	most := 20
	if r.Params.Limit != nil {
		most = *r.Params.Limit
	}
	found, err := s.Bus.Search(ctx, principal(ctx), r.Params.Q, f, most)
	return SearchMessages200JSONResponse{Items: mapSlice(found, func(f bus.Found) FoundMessage {
		return FoundMessage{Message: messageModel(f.Message), Passage: f.Passage}
	})}, err
}

// single returns a list of what a parameter names, none where it is not sent or empty.
func single(name *string) []string {
	if value(name) == "" {
		return nil
	}
	return []string{*name}
}

// ReadThread reads a thread.
func (s *messageHandlers) ReadThread(ctx context.Context, r ReadThreadRequestObject) (ReadThreadResponseObject, error) {
	list, err := s.Bus.Thread(ctx, principal(ctx), r.Thread, value(r.Params.After), limit(r.Params.Limit))
	return ReadThread200JSONResponse{Items: mapSlice(list, messageModel)}, err
}

// GetMessage reads one message.
func (s *messageHandlers) GetMessage(ctx context.Context, r GetMessageRequestObject) (GetMessageResponseObject, error) {
	id, err := messageID(r.Message)
	if err != nil {
		return nil, err
	}
	m, err := s.Bus.Get(ctx, principal(ctx), id)
	return GetMessage200JSONResponse(messageModel(m)), err
}

// ListArchives lists archives of messages that were dropped.
func (s *messageHandlers) ListArchives(ctx context.Context, r ListArchivesRequestObject) (ListArchivesResponseObject, error) {
	found, err := s.Bus.Archives(ctx, principal(ctx), value(r.Params.Before), limit(r.Params.Limit))
	return ListArchives200JSONResponse{Items: list(found)}, err
}

// ListDeadLetters lists what inboxes gave up.
func (s *messageHandlers) ListDeadLetters(ctx context.Context, r ListDeadLettersRequestObject) (ListDeadLettersResponseObject, error) {
	list, err := s.Bus.DeadLetters(ctx, principal(ctx), value(r.Params.Before), limit(r.Params.Limit))
	return ListDeadLetters200JSONResponse{Items: mapSlice(list, deadLetterModel)}, err
}

// RedriveDeadLetter lets a dead letter be handed out again.
func (s *messageHandlers) RedriveDeadLetter(
	ctx context.Context,
	r RedriveDeadLetterRequestObject,
) (RedriveDeadLetterResponseObject, error) {
	id, err := messageID(r.Message)
	if err != nil {
		return nil, err
	}
	return RedriveDeadLetter204Response{}, s.Bus.Redrive(ctx, principal(ctx), id, callFrom(ctx).once)
}

// DiscardDeadLetter removes a dead letter.
func (s *messageHandlers) DiscardDeadLetter(
	ctx context.Context,
	r DiscardDeadLetterRequestObject,
) (DiscardDeadLetterResponseObject, error) {
	id, err := messageID(r.Message)
	if err != nil {
		return nil, err
	}
	return DiscardDeadLetter204Response{}, s.Bus.Discard(ctx, principal(ctx), id, callFrom(ctx).once)
}

// messageID reads the id of a message. NotFound for what is none.
func messageID(text string) (ids.ID, error) {
	id, ok := ids.Parse(text)
	if !ok {
		return ids.Nil, fault.New(fault.NotFound, "There is no such message in this workspace.")
	}
	return id, nil
}

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
