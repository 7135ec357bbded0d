package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// piece is how many bytes are gathered before they are sent.
const piece = 64 << 10

// Writer sends server-sent events in pieces. A reader that does not take a piece in
// time is cut off, so that nothing piles up.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	time    time.Duration // for one piece
	buf     bytes.Buffer
	// gone says that the reader did not take what was written.
	gone bool
}

// begin says what follows.
func begin(w http.ResponseWriter, perPiece time.Duration) *Writer {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Writer{w: w, control: http.NewResponseController(w), time: perPiece}
}

// Event gathers an event, and sends what was gathered where that is a piece.
func (s *Writer) Event(id, kind string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", id, err)
	}
	fmt.Fprintf(&s.buf, "id: %s\nevent: %s\ndata: %s\n\n", id, kind, text)
	if s.buf.Len() < piece {
		return nil
	}
	return s.Flush()
}

// Place sends where to go on after a break, with nothing to show.
func (s *Writer) Place(id string) { fmt.Fprintf(&s.buf, "id: %s\n\n", id) }

// Beat is a sign of life.
func (s *Writer) Beat() { s.buf.WriteString(":\n\n") }

// Flush sends what was gathered.
func (s *Writer) Flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	s.allowTime()
	_, err := s.w.Write(s.buf.Bytes())
	s.buf.Reset()
	if err == nil {
		err = s.control.Flush()
	}
	s.gone = err != nil
	return err
}

// allowTime gives the reader time for what is written next. Where the connection
// cannot be given more, the server's own limit holds.
func (s *Writer) allowTime() { _ = s.control.SetWriteDeadline(time.Now().Add(s.time)) }
