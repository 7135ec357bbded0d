package cli_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files again")

// answers serves recorded answers of the API, by path.
func answers(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		name := strings.ReplaceAll(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/", "_")
		raw, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Errorf("there is no answer to %s", r.URL.Path)
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(raw)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestWhatPeopleSee compares what commands print with what was looked at once, on a pipe
// and on a terminal of a hundred columns.
func TestWhatPeopleSee(t *testing.T) {
	t.Parallel()
	w := newTerminal(t)
	w.env["FLEETBOARD_URL"], w.env["FLEETBOARD_TOKEN"] = answers(t), "fb_person_x"
	w.now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for _, line := range []string{"job list", "job show FB-3", "job stats", "job explain FB-2", "factory list", "budget list", "usage --by job"} {
		for _, terminal := range []bool{false, true} {
			w.terminal = terminal
			out := w.fleet(strings.Fields(line)...).ok()
			if !terminal && strings.Contains(out, "\x1b") {
				t.Errorf("%s prints colour into a pipe", line)
			}
			for _, row := range strings.Split(out, "\n") {
				if terminal && (line == "job list" || line == "factory list") && len([]rune(strip(row))) > 100 {
					t.Errorf("%s prints a row wider than the terminal: %q", line, row)
				}
			}
			file := "testdata/" + strings.NewReplacer(" ", "_", "--", "").Replace(line) + ".txt"
			if terminal {
				file = strings.Replace(file, ".txt", ".terminal.txt", 1)
			}
			if *update {
				if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || string(want) != out {
				t.Errorf("%s printed\n%s\nwant (%v)\n%s", line, out, err, want)
			}
		}
	}
	w.env["NO_COLOR"] = "1"
	if out := w.fleet("job", "list").ok(); strings.Contains(out, "\x1b") {
		t.Error("NO_COLOR is not honoured")
	}
	delete(w.env, "NO_COLOR")
	if out := w.fleet("job", "list", "--no-color").ok(); strings.Contains(out, "\x1b") {
		t.Error("--no-color is not honoured")
	}
	// With --json the answer goes through as it is.
	w.terminal = false
	if out := w.fleet("job", "show", "FB-3", "--json").ok(); strings.TrimSpace(out) != w.read("testdata/jobs_FB-3.json") {
		t.Error("--json changed the answer")
	}
}

// strip takes colours away.
func strip(text string) string {
	for {
		from := strings.Index(text, "\x1b[")
		if from < 0 {
			return text
		}
		to := strings.IndexByte(text[from:], 'm')
		text = text[:from] + text[from+to+1:]
	}
}
