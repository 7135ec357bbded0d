package live

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

// Writer writes server-sent events. Each message is made completely before
// its first byte goes out.
type Writer struct {
	response *echo.Response
	control  *http.ResponseController
	buf      bytes.Buffer
}

// openWriter sends the head of the answer.
func openWriter(c echo.Context) (*Writer, error) {
	w := c.Response()
	h := w.Header()
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s := &Writer{response: w, control: http.NewResponseController(w)}
	return s, s.Comment()
}

// end gives the last bytes of the answer a time of their own: that of the last
// message may be over, and an answer cut short is a network error to the page.
func (w *Writer) end() { _ = w.control.SetWriteDeadline(time.Now().Add(writeTime)) }

// Comment keeps the connection open and detects a dead one.
func (w *Writer) Comment() error {
	w.buf.Reset()
	w.buf.WriteString(":\n\n")
	return w.flush()
}

// place sends where to go on after a break, with nothing to show.
func (w *Writer) place(cursor string) error {
	w.buf.Reset()
	w.buf.WriteString("id: " + cursor + "\n\n")
	return w.flush()
}

// send sends a message that was made before.
func (w *Writer) send(message []byte) error {
	w.buf.Reset()
	w.buf.Write(message)
	return w.flush()
}

// Parts sends pieces of a page as one unnamed message.
func (w *Writer) Parts(ctx context.Context, cursor string, parts []templ.Component) error {
	message, err := partsMessage(ctx, cursor, parts)
	if err != nil {
		return err
	}
	return w.send(message)
}

// namedMessage returns an event that the page's scripts listen to.
func namedMessage(event, cursor string) []byte {
	var s Writer
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
	var s Writer
	s.message(cursor, html.String())
	return s.buf.Bytes(), nil
}

// lineEnds are all that a reader of events takes for the end of a line. Text
// from agents may hold each of them; none may begin a field of its own.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func (w *Writer) message(cursor, data string) {
	if cursor != "" {
		w.buf.WriteString("id: " + cursor + "\n")
	}
	for line := range strings.SplitSeq(lineEnds.Replace(data), "\n") {
		w.buf.WriteString("data: ")
		w.buf.WriteString(line)
		w.buf.WriteByte('\n')
	}
	w.buf.WriteByte('\n')
}

func (w *Writer) flush() error {
	if err := w.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := w.response.Write(w.buf.Bytes()); err != nil {
		return err
	}
	return w.control.Flush()
}
