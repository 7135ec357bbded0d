package factory

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/fleetboard/fleetboard/api"
)

// receiver is a collector of traces, which keeps the spans.
type receiver struct {
	url string

	mu    sync.Mutex
	spans []*otlp.Span
	raw   bytes.Buffer
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var got collector.ExportTraceServiceRequest
		if err != nil || q.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw.Write(body)
		for _, resource := range got.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				r.spans = append(r.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// find returns the spans of a name.
func (r *receiver) find(name string) (list []*otlp.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.GetName() == name {
			list = append(list, s)
		}
	}
	return list
}

func (r *receiver) contains(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Contains(r.raw.Bytes(), []byte(text))
}

// attribute returns an attribute of a span, as text.
func attribute(s *otlp.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return strings.Trim(strings.TrimPrefix(a.GetValue().String(), "string_value:"), `"`)
		}
	}
	return ""
}

// One trace goes from the job's creation over its claim into the engine and what it starts, and holds
// nothing that people, agents or hosts wrote.
func TestATraceGoesFromTheJobToTheEngine(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	settings := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.url, "OTEL_BSP_SCHEDULE_DELAY=200", "OTEL_EXPORTER_OTLP_HEADERS=authorization=canary-of-the-collector"}
	s := newServerAndRepos(t, settings...)
	s.env = settings
	program := filepath.Join(s.dir, "agent.sh")
	if err := os.WriteFile(program, []byte("env > "+s.dir+"/seen.new; mv "+s.dir+"/seen.new "+s.dir+"/seen; echo hello > greeting.txt; echo canary-of-the-agent\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.program(fleetBinary, "worker", "--repos", filepath.Join(s.dir, "repos"), "--engine", "command:sh "+program, "--name", "desk", "--factory", "desk",
		"--state", s.state("desk"), "--lease", "10s", "--heartbeat", "1s", "--check", "grep -q hello greeting.txt").Start()
	key := s.submitAs(api.NewJob{Title: "canary-of-the-title", Repo: new("ledger"), Body: new("canary-of-the-body")})
	s.untilStatus(key, api.JobStatusCompleted)
	names := []string{"create_job", "claim_job", "attempt", "clone", "invoke_agent command", "check", "push", "POST /api/v1/jobs",
		"POST /api/v1/fleet/complete"}
	first := map[string]*otlp.Span{}
	for _, name := range names {
		s.until("there is a span "+name, func() bool {
			if found := r.find(name); len(found) > 0 {
				first[name] = found[0]
			}
			return first[name] != nil
		})
	}
	trace := first["create_job"].GetTraceId()
	for name, parent := range map[string]string{"claim_job": "create_job", "attempt": "claim_job", "clone": "attempt",
		"invoke_agent command": "attempt", "check": "attempt", "push": "attempt"} {
		if one := first[name]; !bytes.Equal(one.GetTraceId(), trace) || !bytes.Equal(one.GetParentSpanId(), first[parent].GetSpanId()) {
			t.Errorf("%s is no part of %s", name, parent)
		}
	}
	if !bytes.Equal(first["POST /api/v1/fleet/complete"].GetTraceId(), trace) {
		t.Error("the report is of another trace")
	}
	if l := first["create_job"].GetLinks(); len(l) != 1 || !bytes.Equal(l[0].GetSpanId(), first["POST /api/v1/jobs"].GetSpanId()) {
		t.Errorf("the job's links are %v", l)
	}
	engine := first["invoke_agent command"]
	if attribute(engine, "gen_ai.operation.name") != "invoke_agent" || attribute(engine, "gen_ai.agent.name") != "command" {
		t.Errorf("the engine's attributes are %v", engine.GetAttributes())
	}
	seen, err := os.ReadFile(filepath.Join(s.dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	want := "TRACEPARENT=00-" + hex.EncodeToString(trace) + "-" + hex.EncodeToString(engine.GetSpanId()) + "-01"
	if !slices.Contains(strings.Split(string(seen), "\n"), want) || strings.Contains(string(seen), "OTEL_") || strings.Contains(string(seen), "canary-of-the-collector") {
		t.Errorf("the engine does not go on with %s: %s", want, seen)
	}
	for _, secret := range []string{"canary", s.token("owner-token"), s.token("enrolment-token"), "hello", program, "mara@"} {
		if r.contains(secret) {
			t.Errorf("the collector was told %q", secret)
		}
	}
}

// A failure is told by its kind.
func TestATraceTellsFailuresByKind(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	s := newServerAndRepos(t)
	s.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.url, "OTEL_BSP_SCHEDULE_DELAY=200"}
	s.worker("desk", "--check", "echo canary-of-the-check; false")
	key := s.submitAs(api.NewJob{Title: "Break it", Repo: new("ledger"), MaxRetries: new(0)}, step{"run": "echo broken > a.txt"})
	s.untilStatus(key, api.JobStatusFailed)
	for _, name := range []string{"check", "attempt"} {
		s.until("there is a span "+name, func() bool { return len(r.find(name)) > 0 })
		one := r.find(name)[0]
		if attribute(one, "error.type") != "checks_failed" || one.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR {
			t.Errorf("%s has %v, %v", name, one.GetAttributes(), one.GetStatus())
		}
	}
	if r.contains("canary") {
		t.Error("the collector was told what the check printed")
	}
}

// A collector that takes nothing costs a line of the log, and the end of a process no more than seconds.
func TestACollectorThatIsAwayStopsNothing(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	t.Cleanup(func() { close(stuck); away.Close() })
	settings := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + away.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}
	s := newServerAndRepos(t, settings...)
	s.env = settings
	w := s.worker("desk")
	for range 3 {
		s.untilStatus(s.submit(step{"run": "echo hello > greeting.txt"}), api.JobStatusCompleted)
	}
	began := time.Now()
	for _, p := range []interface {
		Signal(syscall.Signal)
		AwaitEnd(time.Duration)
		Output() string
	}{w, s.server} {
		p.Signal(syscall.SIGTERM)
		p.AwaitEnd(patience)
		if n := strings.Count(p.Output(), "traces are lost"); n > 1 {
			t.Errorf("it is said %d times that traces are lost", n)
		}
	}
	t.Logf("both ended after %s", time.Since(began))
}

// Without a collector nothing is said of traces.
func TestWithoutACollectorThereIsNoTrace(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("desk")
	s.untilStatus(s.submit(step{"run": "env > " + s.dir + "/seen"}), api.JobStatusCompleted)
	if seen, err := os.ReadFile(filepath.Join(s.dir, "seen")); err != nil || strings.Contains(string(seen), "TRACEPARENT") {
		t.Errorf("%s, %v", seen, err)
	}
}
