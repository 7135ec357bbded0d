package edge

import (
	"net/http"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/metrics"
)

// Count counts the requests that next answers, with their times.
func Count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &answer{ResponseWriter: w}
		defer func() { metrics.CountRequest(area(r), seen.final(), time.Since(began)) }()
		next.ServeHTTP(seen, r)
	})
}

// area returns the part of the server that a request is for.
func area(r *http.Request) metrics.Area {
	path := r.URL.Path
	switch api, within := strings.CutPrefix(path, "/api/"); {
	case within && strings.HasSuffix(api, "/fleet/claim"):
		return metrics.Claim
	case within && r.Method == http.MethodPost && strings.HasSuffix(api, "/heartbeat"):
		return metrics.Heartbeat
	case strings.HasSuffix(path, "/stream"), strings.HasPrefix(path, "/live"), path == "/streams":
		return metrics.Stream
	case path == "/healthz", path == "/readyz", path == "/metrics", strings.HasPrefix(path, "/health/"):
		return metrics.Monitor
	case within:
		return metrics.API
	case strings.HasPrefix(path, "/static/"):
		return metrics.Static
	}
	return metrics.Pages
}

// answer notes the status of an answer.
type answer struct {
	http.ResponseWriter

	status int
}

// final returns the status of an answer that has ended.
func (a *answer) final() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}

// WriteHeader notes the first final status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the writer below, for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush sends what was written so far.
func (a *answer) Flush() { _ = http.NewResponseController(a.ResponseWriter).Flush() }
