package tracing

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// What callers and agents send as a place, a state or a model's name reaches the collector as a place, or not at
// all, or in part.
func TestWhatOthersSendIsBounded(t *testing.T) {
	var mu sync.Mutex
	var got []byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, body...)
	}))
	defer s.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL)
	stop, err := Start(t.Context(), "test", "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	const place = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	r := httptest.NewRequest(http.MethodGet, "/jobs", nil)
	r.Header.Set("Traceparent", place)
	r.Header.Set("Tracestate", "canary=canary")
	r, span := Request(r)
	Route(r.Context(), r, "/jobs")
	if at := trace.SpanContextFromContext(r.Context()); at.TraceID().String() != place[3:35] || at.TraceState().Len() != 0 {
		t.Errorf("the request is at %v", at)
	}
	_, agent := Agent(r.Context(), "command", "")
	agent.Use("", strings.Repeat("m", 10_000)+"canary", 1, 1)
	agent.End("")
	span.Answered(http.StatusOK)
	for _, parent := range []string{strings.Repeat(place, 1000), "00-canary-canary-01", place + "-canary", "01-" + place[3:] + "-canary"} {
		r := httptest.NewRequest(http.MethodGet, "/jobs", nil)
		r.Header.Set("Traceparent", parent)
		_, span := Request(r)
		span.Answered(http.StatusOK)
	}
	stop()
	mu.Lock()
	defer mu.Unlock()
	var sent collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(got, &sent); err != nil || len(sent.GetResourceSpans()) != 1 {
		t.Fatalf("%v, %v", err, &sent)
	}
	if n := len(sent.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()); n != 6 {
		t.Errorf("there are %d spans", n)
	}
	if bytes.Contains(got, []byte("canary")) || len(got) > 4096 {
		t.Errorf("the collector got %d bytes: %q", len(got), got)
	}
}

// A collector's answer fills no log, and is told once.
func TestAComplaintIsShort(t *testing.T) {
	var log bytes.Buffer
	c := &complaints{log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		c.Handle(longError(strings.Repeat("no ", 10_000)))
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || log.Len() > 1000 || !strings.Contains(log.String(), "no no") {
		t.Errorf("%d lines, %d bytes", n, log.Len())
	}
}

type longError string

func (e longError) Error() string { return string(e) }
