package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// mostRefusal bounds the body of a refusal, in bytes: a page with a few words.
const mostRefusal = 64 << 10

// channel is where one of several streams of a connection answers. It is an http.ResponseWriter.
type channel struct {
	shared  *sharedWriter
	prefix  *piece
	header  http.Header
	status  int          // 0 before the head
	refusal bytes.Buffer // the body of what is no stream
}

// head is what the page needs to know of an answer before its messages.
type head struct {
	Status int               `json:"status"`
	Header map[string]string `json:"headers"`
	Body   string            `json:"body,omitempty"`
}

// serve answers a request with h, from its head to its end.
func (ch *channel) serve(h http.Handler, r *http.Request) {
	defer func() {
		v := recover()
		if err, _ := v.(error); v != nil && !errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		if !ch.streams() {
			_ = ch.sendHead() // whoever has gone misses nothing
		}
		_ = ch.send(&piece{plain: []byte("end:\n\n")})
	}()
	h.ServeHTTP(ch, r)
}

// streams reports whether the answer is a stream.
func (ch *channel) streams() bool {
	return ch.status == http.StatusOK && strings.HasPrefix(ch.header.Get(echo.HeaderContentType), "text/event-stream")
}

// Header returns the headers of the answer.
func (ch *channel) Header() http.Header { return ch.header }

// WriteHeader sends the head of a stream. That of a refusal waits for its body.
func (ch *channel) WriteHeader(status int) {
	if ch.status != 0 {
		return
	}
	ch.status = status
	if ch.streams() {
		_ = ch.sendHead() // the next message has the same error
	}
}

// Write takes the body of a refusal. A stream's messages come by send.
func (ch *channel) Write(body []byte) (int, error) {
	ch.WriteHeader(http.StatusOK)
	if ch.refusal.Len()+len(body) <= mostRefusal {
		ch.refusal.Write(body)
	}
	return len(body), nil
}

// Flush does nothing: each message goes out at once.
func (ch *channel) Flush() {}

// SetWriteDeadline does nothing: each message sets that of the connection.
func (ch *channel) SetWriteDeadline(time.Time) error { return nil }

// sendHead sends the status, what htmx acts upon, and the body of a refusal.
func (ch *channel) sendHead() error {
	h := head{Status: max(ch.status, http.StatusOK), Header: map[string]string{}, Body: ch.refusal.String()}
	for name, values := range ch.header {
		if strings.HasPrefix(name, "Hx-") || name == echo.HeaderContentType || name == echo.HeaderRetryAfter {
			h.Header[name] = values[0]
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return ch.send(&piece{plain: append(append([]byte("head: "), text...), "\n\n"...)})
}

// send sends a message of the stream.
func (ch *channel) send(message ...*piece) error {
	return ch.shared.send(append([]*piece{ch.prefix}, message...)...)
}
