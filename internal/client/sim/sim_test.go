package sim_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/client/sim"
)

// answered runs an agent against a server that has one job for it, until it claims again. The
// server answers the end of the job with a status.
func answered(t *testing.T, status int, body string) *sim.Counts {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	claimed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch call := strings.TrimPrefix(r.URL.Path, "/api/v1/"); {
		case strings.HasPrefix(call, "agents/"):
			_, _ = io.WriteString(w, `{"token": "fb_agent_x", "token_expires_at": "2099-01-01T00:00:00Z"}`)
		case call == "fleet/claim" && !claimed:
			claimed = true
			_, _ = io.WriteString(w, `{"jobs": [{"key": "FB-1", "lease": {"epoch": 1}}]}`)
		case call == "fleet/claim":
			cancel()
			w.WriteHeader(http.StatusNoContent)
		case call == "fleet/complete":
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		default:
			_, _ = io.WriteString(w, `{"directive": "continue"}`)
		}
	}))
	defer server.Close()
	var counts sim.Counts
	o := sim.Options{Server: server.URL, Enrolment: "fb_enrol_x", Factories: 1, Agents: 1, Work: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	if err := sim.Run(ctx, o, &counts); err != nil {
		t.Fatal(err)
	}
	return &counts
}

// What the server refused is not counted as done.
func TestCountsAreWhatTheServerTook(t *testing.T) {
	if c := answered(t, http.StatusOK, `{"key": "FB-1"}`); c.Completed.Load() != 1 || c.Refused.Load() != 0 || c.Faults.Load() != 0 {
		t.Errorf("taken: %s", c)
	}
	refusal := `{"status": 409, "title": "Conflict", "code": "stale_epoch", "type": "about:blank"}`
	if c := answered(t, http.StatusConflict, refusal); c.Completed.Load() != 0 || c.Refused.Load() != 1 || c.Faults.Load() != 0 {
		t.Errorf("refused: %s", c)
	}
}
