package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowConnections are as many as a single machine would open at once.
const slowConnections = 300

// Connections that send their headers too slowly are cut after five seconds,
// those that send their body too slowly after thirty. Everybody else is answered
// as before.
func TestSlowConnectionsAreCut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for half a minute")
	}
	s := start(t, t.TempDir(), "DATABASE_URL="+freshDatabase(t), "FLEETBOARD_RATE_LIMIT=0")
	before := min(s.answerTime(), s.answerTime(), s.answerTime())
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const head = "POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\n"
	headers, bodies := s.slowly(ctx, head, "X-More: x\r\n"),
		s.slowly(ctx, head+"Authorization: Bearer "+s.token("owner-token")+"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", " ")
	// A fifth, and what two cores' scheduling adds to a millisecond. Other tests
	// run beside this one, so the best of some tries counts.
	meanwhile, most := s.answerTime(), before+before/5+5*time.Millisecond
	for tries := 0; meanwhile > most && tries < 20; tries++ {
		meanwhile = min(meanwhile, s.answerTime())
	}
	check := func(what string, ends []time.Duration, least, most time.Duration) {
		t.Helper()
		slices.Sort(ends)
		if len(ends) != slowConnections || ends[0] < least || ends[len(ends)-1] > most {
			t.Errorf("%d of %d connections with slow %s were cut, after %v to %v; want %v to %v", len(ends), slowConnections, what, ends[0], ends[len(ends)-1], least, most)
		}
		t.Logf("slow %s: cut after %v to %v", what, ends[0].Round(time.Millisecond), ends[len(ends)-1].Round(time.Millisecond))
	}
	check("headers", <-headers, 3*time.Second, 9*time.Second)
	check("bodies", <-bodies, 25*time.Second, 40*time.Second)
	t.Logf("a page took %v before and %v meanwhile", before, meanwhile)
	if meanwhile > most {
		t.Errorf("a page took %v while they were open, %v before", meanwhile, before)
	}
}

// slowly opens connections that say begin, and more of it every second, until
// they are cut. It gives how long each of them stood.
func (s *server) slowly(ctx context.Context, begin, more string) <-chan []time.Duration {
	s.t.Helper()
	address := strings.TrimPrefix(s.url, "http://")
	var mu sync.Mutex
	var ends []time.Duration
	var all sync.WaitGroup
	for range slowConnections {
		conn, err := net.Dial("tcp", address) //nolint:noctx // the server cuts it
		if err != nil {
			s.t.Fatal(err)
		}
		start := time.Now()
		cut := make(chan struct{})
		all.Go(func() {
			defer close(cut)
			defer func() { _ = conn.Close() }()
			// Whatever is answered, the end is what counts.
			_, _ = io.Copy(io.Discard, bufio.NewReader(conn))
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, time.Since(start))
		})
		all.Go(func() {
			drip := time.NewTicker(time.Second)
			defer drip.Stop()
			for text := begin; ; text = more {
				if _, err := io.WriteString(conn, text); err != nil {
					return
				}
				select {
				case <-drip.C:
				case <-cut:
					return
				case <-ctx.Done():
					_ = conn.Close()
					return
				}
			}
		})
	}
	done := make(chan []time.Duration, 1)
	go func() { all.Wait(); done <- ends }()
	return done
}

// answerTime is the 95th of a hundred times that a page takes.
func (s *server) answerTime() time.Duration {
	s.t.Helper()
	times := make([]time.Duration, 100)
	for i := range times {
		start := time.Now()
		answer, err := http.Get(s.url + "/login")
		if err != nil {
			s.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			s.t.Fatalf("a page was answered %d", answer.StatusCode)
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[94]
}

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

// forgetPeak lets the peak of the process's memory begin anew.
func (s *server) forgetPeak() {
	s.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		s.t.Skip("only Linux forgets the peak of a process's memory")
	}
}

// memory is what the process has resident now, or had at its peak, in bytes.
func (s *server) memory(which string) int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skip("only Linux tells how much memory a process has")
	}
	_, rest, _ := strings.Cut(string(text), which)
	line, _, _ := strings.Cut(rest, "kB")
	kilobytes, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		s.t.Fatal(err)
	}
	return kilobytes << 10
}
