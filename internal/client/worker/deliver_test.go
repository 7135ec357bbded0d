package worker

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/worker/outbox"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// A report that the server refuses for its form becomes a failure that says so; one that is
// refused too, or for what has become of the lease, is the end.
func TestARefusedReportBecomesAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		complete, fail int
		want           []string
	}{
		"taken":                    {200, 200, []string{"complete"}},
		"refused for its form":     {422, 200, []string{"complete", "fail"}},
		"too long":                 {413, 200, []string{"complete", "fail"}},
		"not for this agent":       {403, 200, []string{"complete", "fail"}},
		"both are":                 {422, 422, []string{"complete", "fail"}},
		"the lease is not ours":    {409, 200, []string{"complete"}},
		"the job is nobody's more": {404, 200, []string{"complete"}},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			var said api.Failure
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				verb := filepath.Base(r.URL.Path)
				calls = append(calls, verb)
				status := c.complete
				if verb == "fail" {
					status = c.fail
					body, _ := io.ReadAll(r.Body)
					if err := json.Unmarshal(body, &said); err != nil {
						t.Error(err)
					}
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				if status == http.StatusOK {
					_, _ = w.Write([]byte(`{"key": "FB-1"}`))
					return
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"code": "validation", "status": status, "title": "The report is refused.",
					"fields": map[string]string{"files_touched[0]": "It must be a path."}})
			}))
			t.Cleanup(server.Close)
			w := delivering(t, server.URL)
			r := outbox.Report{Job: "FB-1", Epoch: 3, Verb: api.VerbComplete, Body: json.RawMessage(`{"job": "FB-1", "epoch": 3}`), At: time.Now()}
			w.writeDown(r)
			if err := w.newDelivery(r, nil).run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(calls, c.want) {
				t.Errorf("the calls were %v; want %v", calls, c.want)
			}
			if len(c.want) == 2 && (said.Job != "FB-1" || said.Epoch != 3 || !strings.Contains(said.Error, "files_touched[0]")) {
				t.Errorf("the failure is %+v", said)
			}
			if left, err := w.out.Pending(); len(left) > 0 || err != nil {
				t.Errorf("%d reports are left, %v", len(left), err)
			}
		})
	}
}

// What a fenced attempt used is reported, also by a later start, and nothing else.
func TestAFencedAttemptReportsItsUsage(t *testing.T) {
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, filepath.Base(r.URL.Path))
		if len(calls) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"results": [{"id": "m1", "status": "recorded"}]}`))
	}))
	t.Cleanup(server.Close)
	w := delivering(t, server.URL)
	w.writeDown(outbox.Report{Job: "FB-1", Epoch: 3, Usage: []json.RawMessage{[]byte(`{"job": "FB-1", "epoch": 3, "entries": []}`)}, At: time.Now()})
	left, err := w.out.Pending()
	if err != nil || len(left) != 1 {
		t.Fatalf("%d reports are left, %v", len(left), err)
	}
	if err := w.newDelivery(left[0], nil).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(calls, []string{"usage", "usage"}) {
		t.Errorf("the calls were %v", calls)
	}
	if left, err := w.out.Pending(); len(left) > 0 || err != nil {
		t.Errorf("%d reports are left, %v", len(left), err)
	}
}

// delivering returns a worker that can send reports.
func delivering(t *testing.T, server string) *Worker {
	t.Helper()
	connection, err := client.New(server, "token", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := outbox.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{Options: Options{Log: slog.New(slog.DiscardHandler), Lease: time.Minute}, api: connection, out: out, leases: newLeases(signal.New()),
		beatNow: signal.New(), freed: signal.New(), stopped: context.Background(), leaving: context.Background()}
	w.offer = newOffer(&w.Options, func() {})
	return w
}
