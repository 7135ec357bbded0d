package worker

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// A patch that is too long to be shown is named where the server stores it, and otherwise a
// line of the worker's log says why it is not.
func TestAPatchThatIsNotStoredIsLogged(t *testing.T) {
	const stored = `{"sha256": "abc", "size": 5}`
	for name, c := range map[string]struct {
		status int
		format string
		body   string
		want   string // the blob
		logged string
	}{
		"stored":           {201, "application/json", stored, "abc", ""},
		"was there before": {200, "application/json", stored, "abc", ""},
		"refused":          {413, "application/problem+json", `{"code": "too_large", "status": 413, "title": "Too large."}`, "", "Too large."},
		"out of order":     {503, "text/plain", "away", "", "503"},
		"a proxy's page":   {200, "text/html", "<h1>Log in</h1>", "", "a web page answered"},
		"nothing":          {204, "", "", "", "204 No Content"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.format)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			t.Cleanup(server.Close)
			got, logged := keep(t, server.URL)
			if (got == nil) != (c.want == "") || got != nil && *got != c.want {
				t.Errorf("the blob is %v; want %q", got, c.want)
			}
			if said := logged != ""; said != (c.logged != "") || !strings.Contains(logged, c.logged) || said && !strings.Contains(logged, "job=FB-1") {
				t.Errorf("the log says %q", logged)
			}
		})
	}
	if got, logged := keep(t, "http://127.0.0.1:1"); got != nil || !strings.Contains(logged, "gave no answer") {
		t.Errorf("without a server the blob is %v, and the log says %q", got, logged)
	}
}

// keep keeps a long patch at a server, and returns its name and what was logged.
func keep(t *testing.T, server string) (blob *string, logged string) {
	t.Helper()
	connection, err := client.New(server, "token", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	job, whole := api.Job{Key: "FB-1"}, filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(whole, []byte("+much"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, secret := readSecrets(job)
	a := &attempt{w: &Worker{api: connection, Options: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}, job: job,
		reporter: newReporter(newLease("FB-1", 1, sinceBoot()+time.Minute), connection, secret, func(string, []string) {})}
	blob = a.keepPatch(t.Context(), repos.Diff{Truncated: true, Whole: whole})
	return blob, log.String()
}
