package worker

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/client"
	"fleetboard/internal/engines"
	"fleetboard/internal/engines/transcript"
)

// listener is a server that notes what it is told of leases.
type listener struct {
	mu        sync.Mutex
	away      bool // it answers 503
	directive string
	lines     map[string]string // by id
	usage     map[string]int64  // output tokens by entry
	step      string
}

func (s *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var said struct {
		Lines []apiclient.NewLogLine
		Step  *string `json:"current_step"`
		Usage []apiclient.UsageEntry
	}
	if err := json.Unmarshal(body, &said); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, l := range said.Lines {
		s.lines[*l.ID] = l.Message
	}
	for _, e := range said.Usage {
		s.usage[e.ID] = e.OutputTokens
	}
	if said.Step != nil {
		s.step = *said.Step
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"directive": "`+s.directive+`", "expires_at": null}`)
}

// listen starts a listener, and a reporter that speaks to it.
func listen(t *testing.T) (*listener, *reporter) {
	t.Helper()
	s := &listener{directive: "continue", lines: map[string]string{}, usage: map[string]int64{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	api, err := client.New(server.URL, "token", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, secret := secretsOf(apiclient.Job{SecretKeys: []string{"key"}, InputContext: json.RawMessage(`{"key": "hunter22"}`)})
	return s, newReporter(newLease("FB-1", 1, sinceBoot()+time.Minute), api, secret)
}

func line(message string) engines.Event {
	return engines.Event{Log: &engines.LogLine{Level: "INFO", Message: message}}
}

// What is told while the server is away arrives afterwards, each line once, usage with its
// newest number, and no secret in it.
func TestNothingIsLostWhileTheServerIsAway(t *testing.T) {
	s, r := listen(t)
	s.away = true
	r.event(line("key is hunter22"))
	r.event(engines.Event{Step: "reads hunter22"})
	r.event(engines.Event{Usage: []transcript.Entry{{ID: "m1", Provider: "p", Model: "m", Output: 1}}})
	if r.flush(t.Context()) {
		t.Fatal("a server that is away has decided")
	}
	r.event(line("second"))
	r.event(engines.Event{Usage: []transcript.Entry{{ID: "m1", Provider: "p", Model: "m", Output: 7}}})
	s.away = false
	for range 2 {
		if !r.flush(t.Context()) {
			t.Fatal("the server is back")
		}
	}
	if len(s.lines) != 2 || s.usage["m1"] != 7 || s.step != "reads [secret]" {
		t.Errorf("the server was told %v, %v, %q", s.lines, s.usage, s.step)
	}
	for _, message := range s.lines {
		if strings.Contains(message, "hunter22") {
			t.Errorf("a line tells a secret: %s", message)
		}
	}
	if lines, usage := r.rest(); len(lines)+len(usage) != 0 {
		t.Errorf("still waiting: %v, %v", lines, usage)
	}
}

// An agent that floods the log has its first lines kept, and the number of the others told.
func TestAFloodOfLinesIsCut(t *testing.T) {
	s, r := listen(t)
	now := time.Now()
	r.now = func() time.Time { return now }
	for range 3 * maxKept {
		r.event(line("again"))
	}
	if kept := len(r.lines); kept != 10*linesPerSecond || r.leftOut != 3*maxKept-kept {
		t.Fatalf("%d lines were kept, %d left out", kept, r.leftOut)
	}
	now = now.Add(time.Minute)
	r.event(line("calm"))
	for len(r.lines) > 0 {
		if !r.flush(t.Context()) {
			t.Fatal("the server does not answer")
		}
	}
	told := false
	for _, message := range s.lines {
		told = told || strings.Contains(message, "lines were left out")
	}
	if !told {
		t.Error("nobody is told of the lines that were left out")
	}
}

// Each answer brings what the server wants, so that a cancel need not wait for a heartbeat.
func TestReportsBringDirectives(t *testing.T) {
	s, r := listen(t)
	s.directive = "cancel"
	r.event(line("works"))
	r.flush(t.Context())
	if cause, _ := r.lease.ended(); cause != whyCancelled {
		t.Errorf("the cause is %q", cause)
	}
}
