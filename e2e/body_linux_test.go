package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Bodies that are too much are refused, and cost the server no memory.
func TestBodiesThatAreTooMuch(t *testing.T) {
	t.Parallel()
	// Without a password: hashing one takes more memory than all of this.
	s := start(t, t.TempDir(), "DATABASE_URL="+freshDatabase(t))
	const limit = 256 << 10
	fit := `{"title":"x","input_context":{"a":"` + "`" + `"}}`
	pad := func(size int) string { return strings.Replace(fit, "`", strings.Repeat("x", size-len(fit)+1), 1) }
	var keys strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&keys, `"%d":1,`, i)
	}
	many := `{"title":"x","input_context":{` + keys.String() + `"z":1}}`
	fewer := many[:strings.LastIndex(many[:limit-20], ",")] + "}}"
	s.post("warm up", pad(limit), http.StatusCreated)
	before := s.memory("VmRSS:")
	s.forgetPeak()
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"as much as fits":             {pad(limit), http.StatusCreated},
		"a byte less":                 {pad(limit - 1), http.StatusCreated},
		"a byte more":                 {pad(limit + 1), http.StatusRequestEntityTooLarge},
		"a million keys":              {many, http.StatusRequestEntityTooLarge},
		"as many keys as fit":         {fewer, http.StatusCreated},
		"brackets, as many as fit":    {`{"title":"x","input_context":{"a":` + strings.Repeat("[", limit-50), http.StatusBadRequest},
		"brackets, all of them right": {`{"title":"x","input_context":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}}", http.StatusBadRequest},
		"a million brackets":          {strings.Repeat("[", 1_000_000), http.StatusRequestEntityTooLarge},
	} {
		for range 10 {
			s.post(name, c.body, c.status)
		}
	}
	// What is packed is not unpacked: a few bytes stay a few bytes.
	r := s.posting(strings.Repeat("\x00", 1000))
	r.Header.Set("Content-Encoding", "gzip")
	s.answers415(r)
	if grown := s.memory("VmHWM:") - before; grown > 32<<20 {
		t.Errorf("the server grew by %d MB", grown>>20)
	} else {
		t.Logf("the server grew by %d KB at most, from %d KB", grown>>10, before>>10)
	}
}

func (s *server) posting(body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/api/v1/jobs", bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token("owner-token"))
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (s *server) post(what, body string, want int) {
	s.t.Helper()
	answer, err := http.DefaultClient.Do(s.posting(body))
	if err != nil {
		// The server answers and closes while the body is still on its way.
		if want == http.StatusRequestEntityTooLarge {
			return
		}
		s.t.Fatalf("%s: %v", what, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != want {
		s.t.Errorf("%s (%d bytes): %d, want %d: %.200s", what, len(body), answer.StatusCode, want, text)
	}
}

func (s *server) answers415(r *http.Request) {
	s.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnsupportedMediaType {
		s.t.Errorf("a packed body: %d, want 415", answer.StatusCode)
	}
}

// forgetPeak lets the peak of the process's memory begin anew. That is Linux's
// to do, so this file is for Linux.
func (s *server) forgetPeak() {
	s.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		s.t.Fatal(err)
	}
}

// memory returns what the process has resident now, or had at its peak, in bytes.
func (s *server) memory(which string) int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), which)
	line, _, _ := strings.Cut(rest, "kB")
	kilobytes, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		s.t.Fatal(err)
	}
	return kilobytes << 10
}
