package handlertest

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Listen serves the site for real: a recorder has no deadlines.
func (s *Site) Listen(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(s.Server)
	t.Cleanup(server.Close)
	return server.URL
}

// openFor is how long a stream lasts at most: a test that waits for what never comes fails then.
const openFor = 3 * time.Minute

// Open begins a stream after lastID and returns the answer's head. The stream lasts as
// long as the test.
func (s *Site) Open(t *testing.T, target, lastID string) *http.Response {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), openFor)
	t.Cleanup(end)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(s.Cookies["sid"])
	r.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// Stream opens a stream for the test's time.
func (s *Site) Stream(t *testing.T, target, lastID string) *Stream {
	t.Helper()
	res := s.Open(t, target, lastID)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the stream answers %d", res.StatusCode)
	}
	return &Stream{t: t, Res: res, read: bufio.NewReader(res.Body)}
}

// Next reads a message with data; err is what ended the stream.
func (s *Stream) Next() (Message, error) {
	var m Message
	var data []string
	for {
		line, err := s.read.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "id":
			m.ID = value
		case "event":
			m.Event = value
		case "data":
			data = append(data, value)
		case "":
			if data != nil {
				m.Data = strings.Join(data, "\n")
				return m, nil
			}
		}
	}
}

// Until reads messages to the first that has the text.
func (s *Stream) Until(text string) Message {
	s.t.Helper()
	for {
		m, err := s.Next()
		if err != nil {
			s.t.Fatalf("the stream ended before %q came: %v", text, err)
		}
		if strings.Contains(m.Data, text) {
			return m
		}
	}
}

// LiveURL returns the stream that a page opens.
func (w *Workspace) LiveURL(path string) string {
	w.t.Helper()
	target := Page(w.t, w.Get(path), http.StatusOK).Find("#live").AttrOr("hx-sse:connect", "")
	if target == "" {
		w.t.Fatalf("%s has no stream", path)
	}
	return target
}
