package edge_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/internal/metrics"
)

// counted returns how many requests of an area were answered with a status.
func counted(t *testing.T, area, code string) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(metrics.Declared()...)
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		if family.GetName() != "fleetboard_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == area && m.GetLabel()[1].GetValue() == code {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// Each request is counted once, in its area and with its status, also one that ends in a panic.
func TestRequestsAreCounted(t *testing.T) {
	answer := edge.Count(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Want") {
		case "nothing":
		case "panic":
			panic(http.ErrAbortHandler)
		case "early":
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTeapot)
		default:
			w.WriteHeader(http.StatusConflict)
		}
	}))
	for _, c := range []struct{ method, path, want, area, code string }{
		{http.MethodPost, "/api/v1/fleet/claim", "", "claim", "409"},
		{http.MethodPost, "/api/v1/fleet/agents/ada/heartbeat", "", "heartbeat", "409"},
		{http.MethodGet, "/api/v1/events/stream", "nothing", "stream", "200"},
		{http.MethodGet, "/api/v1/jobs", "", "api", "409"},
		{http.MethodGet, "/live/jobs/DEF-1/log", "nothing", "stream", "200"},
		{http.MethodGet, "/static/app.css", "nothing", "static", "200"},
		{http.MethodGet, "/readyz", "", "monitor", "409"},
		{http.MethodGet, "/board", "early", "pages", "418"},
		{http.MethodGet, "/a/" + strings.Repeat("x", 9000), "panic", "pages", "200"},
	} {
		before := counted(t, c.area, c.code)
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("Want", c.want)
		func() {
			defer func() { _ = recover() }()
			answer.ServeHTTP(httptest.NewRecorder(), r)
		}()
		if n := counted(t, c.area, c.code) - before; n != 1 {
			t.Errorf("%s %.40s was counted %v times as %s %s", c.method, c.path, n, c.area, c.code)
		}
	}
}

// What a handler can do with the connection it can do through the counting: streams flush and set deadlines.
func TestStreamsPassTheCounting(t *testing.T) {
	done := make(chan struct{})
	s := httptest.NewServer(edge.Count(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Errorf("deadline: %v", err)
		}
		_, _ = io.WriteString(w, "first\n")
		if err := control.Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
		<-done
	})))
	defer s.Close()
	got, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	first := make([]byte, 6)
	if _, err := io.ReadFull(got.Body, first); err != nil || string(first) != "first\n" {
		t.Errorf("read %q, %v", first, err)
	}
	close(done)
}
