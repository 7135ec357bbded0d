package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetboard/db/dbtest"
	"fleetboard/handlers/api"
	"fleetboard/internal/accounts"
	"fleetboard/internal/accounts/setup"
	"fleetboard/internal/cli"
	"fleetboard/internal/coordinator"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/jobs/attempts"
	"fleetboard/internal/jobs/joblog"
	"fleetboard/internal/kanban"
	"fleetboard/internal/notifier"
	"fleetboard/internal/spend/budgets"
	"fleetboard/internal/spend/estimates"
	"fleetboard/internal/spend/prices"
	"fleetboard/internal/spend/usage"
)

// world is a server, and a person at a terminal of the same machine.
type world struct {
	t                *testing.T
	url              string
	owner, enrolment string
	home             string
	env              map[string]string
	now              time.Time
	terminal         bool
}

// newWorld starts a server of the API on a fresh database. The person has the owner's and
// the enrolment token in the environment.
func newWorld(t *testing.T) *world {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	d := dbtest.New(t)
	wake := notifier.New(d, log)
	people := accounts.New(d, bytes.Repeat([]byte{7}, 32), wake, log)
	w := newPerson(t)
	data := filepath.Join(w.home, "data")
	if _, err := people.Setup.Bootstrap(t.Context(), setup.BootstrapInput{DataDir: data}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = wake.Run(ctx)
	}()
	work := jobs.NewService(d, wake, dbtest.Vault(d))
	flow := dispatch.New(d, work, wake, people.Tokens, log)
	events := eventlog.New(d)
	board := kanban.New(d, events, wake, log)
	listening := httptest.NewServer(api.New(api.Deps{Jobs: work, Attempts: attempts.NewService(d), JobLogs: joblog.NewService(d),
		Fleet: fleet.NewService(d, wake), Dispatch: flow, Kanban: board, Estimates: estimates.New(d),
		Budgets: budgets.NewService(d, wake, nil), Prices: prices.NewService(d), Usage: usage.NewService(d), Events: events,
		Coordinator: coordinator.New(d, coordinator.Work{}, wake, log), Tokens: people.Tokens, Log: log,
		Build: api.Build{Server: "test", Schema: 7}}))
	t.Cleanup(func() {
		flow.Close()
		board.Close()
		listening.CloseClientConnections()
		listening.Close()
		cancel()
		<-ended
	})
	w.url = listening.URL
	w.owner, w.enrolment = w.read(filepath.Join(data, "owner-token")), w.read(filepath.Join(data, "enrolment-token"))
	w.env["FLEETBOARD_URL"], w.env["FLEETBOARD_TOKEN"], w.env["FLEETBOARD_ENROLMENT_TOKEN"] = w.url, w.owner, w.enrolment
	return w
}

// newPerson is somebody without a server.
func newPerson(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), env: map[string]string{}}
	w.env["HOME"] = w.home
	return w
}

func (w *world) read(path string) string {
	w.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// ran is what a command left.
type ran struct {
	t        *testing.T
	line     string
	code     int
	out, err string
}

// fleet runs a command line, with nothing on stdin.
func (w *world) fleet(args ...string) ran {
	w.t.Helper()
	return w.fleetIn("", args...)
}

func (w *world) fleetIn(in string, args ...string) ran {
	w.t.Helper()
	var out, complaints buffer
	code := cli.Run(w.t.Context(), args, w.around(in, &out, &complaints))
	return ran{w.t, "fleet " + strings.Join(args, " "), code, out.String(), complaints.String()}
}

// around is what a command finds.
func (w *world) around(in string, out, complaints *buffer) cli.Env {
	return cli.Env{In: strings.NewReader(in), Out: out, Err: complaints, Getenv: func(name string) string { return w.env[name] },
		ConfigDir: filepath.Join(w.home, "config", "fleet"), StateDir: filepath.Join(w.home, "state", "fleet"),
		Now: func() time.Time {
			if w.now.IsZero() {
				return time.Now()
			}
			return w.now
		},
		Terminal: w.terminal, Width: func() int { return 100 }}
}

// ok fails the test where the command did not end with 0, and returns what it printed.
func (r ran) ok() string {
	r.t.Helper()
	return r.ends(0).out
}

// ends fails the test where the command ended with another code.
func (r ran) ends(code int) ran {
	r.t.Helper()
	if r.code != code {
		r.t.Fatalf("%s ended with %d, want %d\nout: %s\nerr: %s", r.line, r.code, code, r.out, r.err)
	}
	return r
}

// into reads the JSON that a command printed.
func (r ran) into(v any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.ok()), v); err != nil {
		r.t.Fatalf("%s printed no JSON: %v\n%s", r.line, err, r.out)
	}
}

// buffer is written by a command while the test reads it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
