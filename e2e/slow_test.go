package e2e

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
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

// answerTime returns the 95th of a hundred times that a page takes.
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
