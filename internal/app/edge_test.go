package app

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/static"
)

// started returns a server with its own database and an address of its own for metrics.
func started(t *testing.T, vars map[string]string) *App {
	t.Helper()
	environ := map[string]string{"FLEETBOARD_DATA_DIR": t.TempDir(), "FLEETBOARD_LISTEN": "127.0.0.1:0"}
	for name, value := range vars {
		environ[name] = value
	}
	if _, own := vars["DATABASE_URL"]; !own {
		environ["DATABASE_URL"] = dbtest.URL(t)
	}
	cfg, err := LoadConfig(environ)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Start(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// send writes a request as it stands, which no client would, and reads its answer.
func send(t *testing.T, at net.Addr, line, host string) (*http.Response, string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, host)
	method, _, _ := strings.Cut(line, " ")
	got, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return got, string(body)
}

// Whatever is requested, and whoever answers it: page, API, file, router or monitor.
func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	together := started(t, map[string]string{"FLEETBOARD_PUBLIC_URL": "https://fleet.example.com"})
	apart := started(t, map[string]string{"FLEETBOARD_PUBLIC_URL": "https://fleet.example.com", "FLEETBOARD_METRICS_LISTEN": "127.0.0.1:0"})
	const own, evil = "fleet.example.com", "evil.example"
	for _, c := range []struct {
		at         net.Addr
		line, host string
		want       int
	}{
		{together.listener.Addr(), "GET /login", own, http.StatusOK},
		{together.listener.Addr(), "GET /board", own, http.StatusUnauthorized},
		{together.listener.Addr(), "GET /", own, http.StatusSeeOther},
		{together.listener.Addr(), "GET /nowhere", own, http.StatusNotFound},
		{together.listener.Addr(), "DELETE /board", own, http.StatusMethodNotAllowed},
		{together.listener.Addr(), "POST /login", own, http.StatusUnprocessableEntity},
		{together.listener.Addr(), "GET //board", own, http.StatusTemporaryRedirect},
		{together.listener.Addr(), "GET /a/../board", own, http.StatusTemporaryRedirect},
		{together.listener.Addr(), "OPTIONS *", own, http.StatusBadRequest},
		{together.listener.Addr(), "GET /healthz", own, http.StatusOK},
		{together.listener.Addr(), "GET /readyz", own, http.StatusOK},
		{together.listener.Addr(), "GET /metrics", own, http.StatusOK},
		{together.listener.Addr(), "DELETE /metrics", own, http.StatusMethodNotAllowed},
		{together.listener.Addr(), "GET " + static.URL("css/app.css"), own, http.StatusOK},
		{together.listener.Addr(), "GET /static/nothing.css", own, http.StatusNotFound},
		{together.listener.Addr(), "GET /api/v1/openapi.yaml", own, http.StatusOK},
		{together.listener.Addr(), "GET /api/v1/jobs", own, http.StatusUnauthorized},
		{together.listener.Addr(), "GET /api/v1/nothing", own, http.StatusNotFound},
		{together.listener.Addr(), "GET /api/", own, http.StatusNotFound},
		{together.listener.Addr(), "GET /board", evil, http.StatusMisdirectedRequest},
		{together.listener.Addr(), "GET /metrics", evil, http.StatusMisdirectedRequest},
		{together.listener.Addr(), "GET /api/v1/jobs", evil, http.StatusMisdirectedRequest},
		{apart.metrics.Addr(), "GET /metrics", own, http.StatusOK},
		{apart.metrics.Addr(), "GET /nowhere", own, http.StatusNotFound},
		{apart.metrics.Addr(), "GET /metrics", evil, http.StatusMisdirectedRequest},
		{apart.listener.Addr(), "GET /metrics", own, http.StatusNotFound},
	} {
		got, _ := send(t, c.at, c.line, c.host)
		if got.StatusCode != c.want {
			t.Errorf("%s of %s: status %d; want %d", c.line, c.host, got.StatusCode, c.want)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Permissions-Policy": "accelerometer=()",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "",
			"Strict-Transport-Security": "max-age=31536000", "Cache-Control": "",
		} {
			if value := got.Header.Get(name); value == "" || !strings.HasPrefix(value, want) {
				t.Errorf("%s of %s: %s is %q", c.line, c.host, name, value)
			}
		}
		cached := strings.HasPrefix(c.line, "GET /static/") && c.want == http.StatusOK || strings.HasSuffix(c.line, "/openapi.yaml")
		if value := got.Header.Get("Cache-Control"); !cached && value != "no-store" {
			t.Errorf("%s of %s may be kept: %s", c.line, c.host, value)
		}
	}
}

// A name that nobody gave the server is refused everywhere, in the format of the caller.
func TestOnlyNamesOfTheServerAreAnswered(t *testing.T) {
	t.Parallel()
	a := started(t, map[string]string{"FLEETBOARD_PUBLIC_URL": "http://fleet.example.com:8080", "FLEETBOARD_ALLOWED_HOSTS": "fleet.lan, fleetboard"})
	at := a.listener.Addr()
	for _, host := range []string{at.String(), "localhost:8080", "fleet.example.com:8080", "fleet.lan", "fleetboard:8080"} {
		if got, body := send(t, at, "GET /login", host); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", host, got.StatusCode, body)
		}
	}
	for _, path := range []string{"/login", "/metrics", "/healthz", "/static/x", "//board", "/apiary"} {
		got, body := send(t, at, "GET "+path, "evil.example:8080")
		if got.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(body, "FLEETBOARD_ALLOWED_HOSTS") ||
			!strings.HasPrefix(got.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %s", path, got.StatusCode, body)
		}
	}
	got, body := send(t, at, "GET /api/v1/jobs", "evil.example")
	var problem struct {
		Code      string `json:"code"`
		Status    int    `json:"status"`
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(body), &problem); err != nil || got.Header.Get("Content-Type") != "application/problem+json" ||
		problem.Code != "host_not_allowed" || problem.Status != got.StatusCode || problem.RequestID == "" {
		t.Errorf("the API: %d %s %v", got.StatusCode, body, err)
	}
}
