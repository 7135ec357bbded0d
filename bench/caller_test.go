package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A caller reads what a server of Go answers in every form that it chooses, and
// keeps its connection until the server closes it.
func TestACallerReadsEveryFormOfAnswer(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	connections := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%v %q", err, r.Header.Get("Authorization"))
		}
		w.Header().Set("X-Queue-Version", "v-7")
		switch r.URL.Path {
		case "/echo":
			_, _ = fmt.Fprint(w, r.Method, " ", r.Header.Get("Content-Type"), " ", string(body))
		case "/pieces":
			for part := range slices.Chunk([]byte(long), 30_000) {
				_, _ = w.Write(part)
				w.(http.Flusher).Flush()
			}
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/last":
			w.Header().Set("Connection", "close")
			http.Error(w, "no more", http.StatusConflict)
		}
	}))
	defer server.Close()
	w := &web{url: server.URL}
	c := w.caller(t.Context(), "secret")
	defer c.close()
	for _, call := range []struct {
		path, body, want string
		status           int
	}{
		{"/echo", `{"a":1}`, `POST application/json {"a":1}`, 200}, {"/pieces", "", long, 200}, {"/none", "", "", 204},
		{"/echo", "", "POST  ", 200}, {"/last", "", "no more\n", 409}, {"/none", "", "", 204},
	} {
		var body []byte
		if call.body != "" {
			body = []byte(call.body)
		}
		got, err := c.call(http.MethodPost, call.path, body)
		if err != nil || got.status != call.status || string(got.body) != call.want || string(got.header("x-queue-version")) != "v-7" {
			t.Errorf("%s: %v, status %d, version %q: %.100q", call.path, err, got.status, got.header("x-queue-version"), got.body)
		}
	}
	if len(connections) != 2 {
		t.Errorf("%d connections; the server closed one", len(connections))
	}
	if _, err := c.must(http.MethodGet, "/last", nil, 200); err == nil || !strings.Contains(err.Error(), "409: no more") {
		t.Errorf("a status that is not wanted: %v", err)
	}
}

func TestTheEndOfTheContextEndsACall(t *testing.T) {
	began, leave := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(began)
		<-leave
	}))
	defer server.Close()
	defer close(leave)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	w := &web{url: server.URL}
	if _, err := w.caller(ctx, "").call(http.MethodGet, "/", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestLeasesAreReadOutOfAClaim(t *testing.T) {
	body := `{"jobs":[{"id":"x","key":"FB-1","lease":{"agent":"a","epoch":3,"ttl_seconds":900},"title":"t"},
		{"key":"FB-22","lease":{"epoch":12}}],"queue_version":"1"}`
	got, err := leasesIn(nil, []byte(body))
	if want := []lease{{"FB-1", 3}, {"FB-22", 12}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, jobs := range map[string]bool{"": true, `{"jobs":[]}`: true, `{"key":"FB-1"}`: false, `{"key":"FB-1","epoch":x}`: false} {
		if got, err := leasesIn(nil, []byte(text)); (err == nil) != jobs || len(got) > 0 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got := string(lease{"FB-1", 3}.append(nil, "complete")); got != `{"verb":"complete","job":"FB-1","epoch":3}` {
		t.Error(got)
	}
}

func TestAPercentileIsOfTheNearestRank(t *testing.T) {
	var list []int
	for i := range 200 {
		list = append(list, 200-i)
	}
	for p, want := range map[float64]int{0: 1, 50: 100, 99: 198, 99.9: 200, 100: 200} {
		if got := percentile(list, p); got != want {
			t.Errorf("p%g is %d; want %d", p, got, want)
		}
	}
	if percentile([]int{7}, 50) != 7 {
		t.Error("of one")
	}
}
