package live

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
)

// writeTime is how long a reader may take for one message. Tests have it shorter.
var writeTime = 10 * time.Second

// Writer writes server-sent events, compressed for those who can read that. Each message
// is made completely before its first byte goes out.
type Writer struct {
	response *echo.Response
	control  *http.ResponseController
	gzip     *gzipTail // nil where the answer is not compressed
	channel  *channel  // nil for a connection of its own
}

// openWriter sends the head of the answer.
func openWriter(c echo.Context) (*Writer, error) {
	w := c.Response()
	h := w.Header()
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	s := &Writer{response: w, control: http.NewResponseController(w)}
	s.channel, _ = w.Writer.(*channel)
	var head []byte
	if s.channel == nil && web.AcceptsGzip(c.Request()) {
		h.Set(echo.HeaderContentEncoding, "gzip")
		s.gzip, head = &gzipTail{}, gzipHead
	}
	w.WriteHeader(http.StatusOK)
	if err := s.write(head); err != nil {
		return s, err
	}
	return s, s.Comment()
}

// end gives the last bytes of the answer a time of their own: that of the last
// message may be over, and an answer cut short is a network error to the page.
func (w *Writer) end() {
	var tail []byte
	if w.gzip != nil {
		tail = w.gzip.bytes()
	}
	_ = w.write(tail) // whoever has gone misses nothing
}

var comment = piece{plain: []byte(":\n\n")}

// Comment keeps the connection open and detects a dead one.
func (w *Writer) Comment() error { return w.send(&comment) }

// place sends where to go on after a break, with nothing to show.
func (w *Writer) place(cursor string) error {
	return w.send(&piece{plain: []byte("id: " + cursor + "\n\n")})
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
func namedMessage(event, cursor string) *piece {
	return &piece{plain: append([]byte("event: "+event+"\n"), lines(cursor, event)...)}
}

// partsMessage is pieces of a page as one unnamed message.
func partsMessage(ctx context.Context, cursor string, parts []templ.Component) (*piece, error) {
	var html strings.Builder
	if err := templ.Join(parts...).Render(ctx, &html); err != nil {
		return nil, err
	}
	return &piece{plain: lines(cursor, html.String())}, nil
}

// lineEnds are all that a reader of events takes for the end of a line. Text
// from agents may hold each of them; none may begin a field of its own.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// lines returns the data of a message, and its place.
func lines(cursor, data string) []byte {
	var out bytes.Buffer
	if cursor != "" {
		out.WriteString("id: " + cursor + "\n")
	}
	for line := range strings.SplitSeq(lineEnds.Replace(data), "\n") {
		out.WriteString("data: ")
		out.WriteString(line)
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// send sends the pieces of one message.
func (w *Writer) send(message ...*piece) error {
	if w.channel != nil {
		return w.channel.send(message...)
	}
	var out []byte
	for _, p := range message {
		if w.gzip == nil {
			out = append(out, p.plain...)
			continue
		}
		w.gzip.add(p.plain)
		out = append(out, p.block()...)
	}
	return w.write(out)
}

func (w *Writer) write(bytes []byte) error {
	if err := w.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := w.response.Write(bytes); err != nil {
		return err
	}
	return w.control.Flush()
}
