package handlers

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

// writeTime is how long a reader may take for one message. Tests have it shorter.
var writeTime = 10 * time.Second

// eventStream writes server-sent events. Each message is made completely before
// its first byte goes out.
type eventStream struct {
	w       *echo.Response
	control *http.ResponseController
	buf     bytes.Buffer
}

// openStream sends the head of the answer.
func openStream(c echo.Context) (*eventStream, error) {
	w := c.Response()
	h := w.Header()
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s := &eventStream{w: w, control: http.NewResponseController(w)}
	return s, s.comment()
}

// end gives the last bytes of the answer a time of their own: that of the last
// message may be over, and an answer cut short is a network error to the page.
func (s *eventStream) end() { _ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) }

// comment keeps the connection open and tells a dead one.
func (s *eventStream) comment() error {
	s.buf.Reset()
	s.buf.WriteString(":\n\n")
	return s.flush()
}

// place tells the reader where to go on after a break, with nothing to show.
func (s *eventStream) place(cursor string) error {
	s.buf.Reset()
	s.buf.WriteString("id: " + cursor + "\n\n")
	return s.flush()
}

// send sends a message that was made before.
func (s *eventStream) send(message []byte) error {
	s.buf.Reset()
	s.buf.Write(message)
	return s.flush()
}

// parts sends pieces of a page as one unnamed message.
func (s *eventStream) parts(ctx context.Context, cursor string, parts []templ.Component) error {
	message, err := partsMessage(ctx, cursor, parts)
	if err != nil {
		return err
	}
	return s.send(message)
}

// namedMessage is an event that the page's scripts listen to.
func namedMessage(event, cursor string) []byte {
	var s eventStream
	s.buf.WriteString("event: " + event + "\n")
	s.message(cursor, event)
	return s.buf.Bytes()
}

// partsMessage is pieces of a page as one unnamed message.
func partsMessage(ctx context.Context, cursor string, parts []templ.Component) ([]byte, error) {
	var html strings.Builder
	if err := templ.Join(parts...).Render(ctx, &html); err != nil {
		return nil, err
	}
	var s eventStream
	s.message(cursor, html.String())
	return s.buf.Bytes(), nil
}

// lineEnds are all that a reader of events takes for the end of a line. Text
// from agents may hold each of them; none may begin a field of its own.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (s *eventStream) message(cursor, data string) {
	if cursor != "" {
		s.buf.WriteString("id: " + cursor + "\n")
	}
	for line := range strings.SplitSeq(lineEnds.Replace(data), "\n") {
		s.buf.WriteString("data: ")
		s.buf.WriteString(line)
		s.buf.WriteByte('\n')
	}
	s.buf.WriteByte('\n')
}

func (s *eventStream) flush() error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}
