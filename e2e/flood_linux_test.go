package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// floodSize is how many hostile requests come at once.
	floodSize = 1000
	// floodMemory is what the server may have resident at its peak.
	floodMemory = 512 << 20
	// answerTime is how long other calls may take meanwhile, beside what they take on a
	// server of the same machine that is left alone.
	answerTime = time.Second
	// floods is how often it is tried until the calls are answered in time; the memory
	// holds in each.
	floods = 3
)

// caller makes the calls that are to be answered while others flood.
type caller struct {
	*server
	token   string
	slowest time.Duration
}

// flood is one kind of hostile request.
type flood struct {
	token, path, body string
	chunked           bool
}

// A thousand hostile bodies at once cost the server little memory, and keep nobody
// else waiting.
func TestAThousandHostileRequestsAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "DATABASE_URL="+freshDatabase(t))
	const large, small = 5<<20 - 200, 256<<10 - 200
	list := func(before, item, after string, size int) string {
		return before + strings.Repeat(item+",", size/(len(item)+1)) + item + after
	}
	hostile, owner := s.enrol("hostile"), s.token("owner-token")
	kinds := []flood{
		{hostile, "/fleet/logs", list(`{"job":"FB-1","epoch":1,"lines":[`, "{}", "]}", large), false},
		{hostile, "/fleet/logs", list(`{"job":"FB-1","epoch":1,"lines":[`, "{}", "]}", large), true},
		{hostile, "/fleet/logs", list(`{"job":"FB-1","epoch":1,"lines":[{"level":"INFO","message":"x","details":{"a":[`, "{}", "]}}]}", large), false},
		{hostile, "/fleet/batch", list(`{"items":[{"verb":"logs","job":"FB-1","epoch":1,"x":[`, `{"":0}`, "]}]}", large), false},
		{hostile, "/fleet/progress", list(`{"job":"FB-1","epoch":1,"checkpoint":{"a":[`, `{"":0}`, "]}}", small), false},
		{owner, "/jobs", list(`{"title":"x","input_context":{"a":[`, "[0]", "]}}", small), false},
		{owner, "/jobs/batch", list(`{"jobs":[`, "{}", "]}", small), true},
	}
	alone := start(t, t.TempDir(), "DATABASE_URL="+freshDatabase(t))
	other, yardstick := &caller{server: s, token: s.enrol("other")}, &caller{server: alone, token: alone.enrol("other")}
	s.forgetPeak()
	inTime := false
	for range floods {
		other.slowest, yardstick.slowest = 0, 0
		s.flood(kinds, other, yardstick)
		if inTime = other.slowest <= answerTime+yardstick.slowest; inTime || t.Failed() {
			break
		}
	}
	if !inTime {
		t.Errorf("another call took %v, one of a server that is left alone %v", other.slowest, yardstick.slowest)
	}
	peak := s.memory("VmHWM:")
	t.Logf("%d requests at once: %d MB at most", floodSize, peak>>20)
	if peak > floodMemory {
		t.Errorf("the server had %d MB; %d are the limit", peak>>20, floodMemory>>20)
	}
}

// flood sends the requests at once; the callers call until all were answered.
func (s *server) flood(kinds []flood, callers ...*caller) {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: -1}}
	var senders sync.WaitGroup
	var answered, broken atomic.Int32
	for i := range floodSize {
		senders.Go(func() {
			switch status := s.send(client, kinds[i%len(kinds)]); {
			case status == 0:
				broken.Add(1)
			case status >= 500 && status != http.StatusServiceUnavailable:
				s.t.Errorf("%s: %d", kinds[i%len(kinds)].path, status)
			default:
				answered.Add(1)
			}
		})
	}
	over := make(chan struct{})
	go func() { defer close(over); senders.Wait() }()
	var calling sync.WaitGroup
	for _, c := range callers {
		calling.Go(func() {
			for asked := 0; ; asked++ {
				select {
				case <-over:
					s.t.Logf("%d other calls of %s, the slowest %v", 3*asked, c.url, c.slowest)
					return
				default:
					c.call()
				}
			}
		})
	}
	calling.Wait()
	s.t.Logf("%d answered, %d broken off", answered.Load(), broken.Load())
}

func (c *caller) call() {
	c.slowest = max(c.slowest, c.timed(http.MethodGet, "/healthz", "", ""),
		c.timed(http.MethodPost, "/api/v1/agents/other/heartbeat", c.token, `{"boot_id":"other-boot","status":"idle"}`),
		c.timed(http.MethodGet, "/api/v1/jobs?limit=1", c.token, ""))
}

// send sends one request and gives the answer's status; 0 where the server closed
// before the body was sent.
func (s *server) send(client *http.Client, f flood) int {
	body := io.Reader(strings.NewReader(f.body))
	if f.chunked {
		body = io.MultiReader(body) // of unknown length
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/api/v1"+f.path, body)
	if err != nil {
		return http.StatusInternalServerError
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// timed returns how long a call takes. It has to succeed, unless it comes too often.
func (s *server) timed(method, path, token, body string) time.Duration {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Errorf("%s: %v", path, err)
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	took := time.Since(began)
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusTooManyRequests {
		s.t.Errorf("%s: %d %.200s", path, answer.StatusCode, text)
	}
	return took
}

// enrol registers an agent on a factory of its own and gives its token.
func (s *server) enrol(name string) string {
	s.t.Helper()
	body, err := json.Marshal(object{"name": name, "boot_id": name + "-boot", "factory": object{"name": name + "-host", "os": "linux", "seats": 1}})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, fmt.Sprintf("%s/api/v1/agents/%s", s.url, name), bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token("enrolment-token"))
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct{ Token string }
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Token == "" {
		s.t.Fatalf("register %s: %d %v", name, answer.StatusCode, err)
	}
	return got.Token
}
