package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbtest"
)

// A monitor on this machine reads /metrics at the server's own address, or at the
// one that is set apart for it; then the own address has none.
func TestAMonitorReadsMetrics(t *testing.T) {
	t.Parallel()
	apart := freeAddress(t)
	for name, c := range map[string]struct {
		env     []string
		at, not func(*server) string
	}{
		"beside all else": {nil, func(s *server) string { return s.url }, nil},
		"on its own": {[]string{"FLEETBOARD_METRICS_LISTEN=" + apart},
			func(*server) string { return "http://" + apart }, func(s *server) string { return s.url }},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, t.TempDir(), append(c.env, "DATABASE_URL="+dbtest.URL(t))...)
			text, status := metricsAt(t, c.at(s))
			if status != http.StatusOK || !strings.Contains(text, "fleetboard_table_dead_rows{table=\"job_lease\"}") ||
				!strings.Contains(text, "\nfleetboard_oldest_transaction_seconds ") {
				t.Errorf("metrics: %d %s", status, text)
			}
			if c.not != nil {
				if _, status := metricsAt(t, c.not(s)); status != http.StatusNotFound {
					t.Errorf("the own address answers %d", status)
				}
			}
		})
	}
}

func metricsAt(t *testing.T, address string) (text string, status int) {
	t.Helper()
	got, err := http.Get(address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), got.StatusCode
}
