package handlers_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/handlers"
	"github.com/fleetboard/fleetboard/internal/coordinator/vitals"
)

// A monitor reads each number by its name, in the format of Prometheus.
func TestMetricsAreWrittenForAMonitor(t *testing.T) {
	sample := func(context.Context) (vitals.Sample, error) {
		return vitals.Sample{Tables: []vitals.Table{{Name: "agent", Live: 10, Dead: 3, Updates: 7, HotUpdates: 6, Vacuums: 2}},
			OldestTransaction: 90 * time.Second, OldestSnapshot: 1500 * time.Millisecond, SnapshotTransactions: 12, UnseenSessions: 1,
			Jobs: map[string]int64{"ready": 7}, Leases: vitals.Leases{All: 5, Overdue: 2, LongestOverdue: 90 * time.Second}, Led: true}, nil
	}
	w := httptest.NewRecorder()
	handlers.Metrics(sample, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("status %d, type %s", w.Code, w.Header().Get("Content-Type"))
	}
	for _, line := range []string{
		`fleetboard_table_live_rows{table="agent"} 10`, `fleetboard_table_dead_rows{table="agent"} 3`,
		`fleetboard_table_updates_total{table="agent"} 7`, `fleetboard_table_hot_updates_total{table="agent"} 6`,
		`fleetboard_table_vacuums_total{table="agent"} 2`, `# TYPE fleetboard_table_dead_rows gauge`,
		`fleetboard_oldest_transaction_seconds 90`, `fleetboard_oldest_snapshot_seconds 1.5`,
		`fleetboard_oldest_snapshot_transactions 12`, `fleetboard_unseen_sessions 1`,
		`fleetboard_database_up 1`, `fleetboard_jobs{status="ready"} 7`, `fleetboard_jobs{status="failed"} 0`,
		`fleetboard_leases_overdue 2`, `fleetboard_lease_longest_overdue_seconds 90`, `fleetboard_coordinator_active 1`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, w.Body)
		}
	}
}

// A monitor still learns what the process counts, and that the database is away.
func TestMetricsOfADatabaseThatIsAway(t *testing.T) {
	away := func(context.Context) (vitals.Sample, error) { return vitals.Sample{}, errors.New("gone") }
	w := httptest.NewRecorder()
	handlers.Metrics(away, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	if w.Code != http.StatusOK || strings.Contains(text, "gone") || !strings.Contains(text, "\nfleetboard_database_up 0\n") ||
		!strings.Contains(text, "\nfleetboard_claims_waiting ") || strings.Contains(text, "fleetboard_jobs{") {
		t.Errorf("status %d: %s", w.Code, text)
	}
}

// Numbers of all workspaces are for who runs the machine: neither unknown callers nor
// whoever comes through a proxy that stands on it get them.
func TestMetricsAreForThisMachineOnly(t *testing.T) {
	for _, c := range []struct {
		remote, header string
		want           int
	}{
		{"127.0.0.1:5000", "", http.StatusOK},
		{"[::1]:5000", "", http.StatusOK},
		{"[::ffff:127.0.0.1]:5000", "", http.StatusOK},
		{"203.0.113.7:5000", "", http.StatusNotFound},
		{"127.0.0.1:5000", "X-Forwarded-For", http.StatusNotFound},
		{"127.0.0.1:5000", "X-Real-IP", http.StatusNotFound},
		{"127.0.0.1:5000", "Forwarded", http.StatusNotFound},
		{"@", "", http.StatusNotFound},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.RemoteAddr = c.remote
		if c.header != "" {
			r.Header.Set(c.header, "127.0.0.1")
		}
		w := httptest.NewRecorder()
		ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
		handlers.OnlyLocal(ok).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s with %q: status %d; want %d", c.remote, c.header, w.Code, c.want)
		}
	}
}
