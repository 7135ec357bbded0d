package api

import (
	"bytes"
	"net/http"
	"time"
)

// streamWriter sends server-sent events in pieces. A reader that does not take a piece in
// time is cut off, so that nothing piles up.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	// gone says that the reader did not take what was written.
	gone bool
}

// begin says what follows.
func (s *streamWriter) begin(w http.ResponseWriter) {
	s.w, s.control = w, http.NewResponseController(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// flush sends what was gathered.
func (s *streamWriter) flush() error {
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
func (s *streamWriter) allowTime() { _ = s.control.SetWriteDeadline(time.Now().Add(streaming.write)) }
