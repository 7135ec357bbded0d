package edge

import (
	"net/http"

	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// Trace records the requests of people and tools that next answers, where traces are recorded: not those
// that agents and monitors repeat every few seconds, streams and files.
func Trace(next http.Handler) http.Handler {
	if !tracing.On() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !traced(r) {
			next.ServeHTTP(w, r)
			return
		}
		r, span := tracing.Request(r)
		seen := &answer{ResponseWriter: w}
		defer func() { span.Answered(seen.final()) }()
		next.ServeHTTP(seen, r)
	})
}

func traced(r *http.Request) bool {
	switch area(r) {
	case metrics.API:
		return r.URL.Path != "/api/v1/fleet/queue-state"
	case metrics.Pages:
		return true
	}
	return false
}
